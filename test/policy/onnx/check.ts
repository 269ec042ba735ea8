import { type OnnxFile, type OnnxNode, readOnnx } from '../../../src/policy/onnx/file.ts';

type Size = number | string;
type Shape = Size[];

/**
 * A structural check of an ONNX file by the rules of the standard, written apart from any runtime: every value is made
 * once, before it is used; every output is made; operators have the inputs that they need; and the shapes that follow,
 * with names for sizes that are free, fit together and end in the declared ones.
 * @returns what is wrong; empty for a sound file.
 */
export function checkStructure(bytes: Uint8Array): string[] {
  const file = readOnnx(bytes);
  const shapes = new Map<string, Shape>();
  const values = new Map<string, number[]>();
  const faults: string[] = [];
  for (const { name, dims, raw, type } of file.weights) {
    if (shapes.has(name)) faults.push(`${name} is stored twice`);
    shapes.set(name, dims);
    const count = (dims as number[]).reduce((a, b) => a * b, 1);
    if (raw?.length !== count * (type === 7 ? 8 : 4))
      faults.push(`${name}: ${raw?.length} bytes for [${dims}]`);
    if (type === 7 && raw) values.set(name, readInt64(raw));
  }
  for (const { name, dims } of file.inputs) shapes.set(name, dims);
  for (const node of file.nodes) checkNode(node, shapes, values, faults);
  for (const { name, dims } of file.outputs) {
    const made = shapes.get(name);
    if (!made) faults.push(`output ${name} is never made`);
    else if (sums(made) !== sums(dims)) faults.push(`output ${name} is [${made}], declared [${dims}]`);
  }
  const used = new Set([
    ...file.nodes.flatMap((node) => node.inputs),
    ...file.outputs.map(({ name }) => name),
  ]);
  for (const name of shapes.keys()) if (!used.has(name)) faults.push(`${name} is made for nobody`);
  return faults;
}

function checkNode(
  node: OnnxNode,
  shapes: Map<string, Shape>,
  values: Map<string, number[]>,
  faults: string[],
): void {
  const missing = node.inputs.filter((name) => !shapes.has(name));
  if (missing.length > 0) faults.push(`${node.name}: ${missing} used before it is made`);
  const inputs = node.inputs.map((name) => shapes.get(name) ?? []);
  const fail = (why: string): Shape => {
    faults.push(`${node.name} (${node.type}): ${why}; inputs ${inputs.map((s) => `[${s}]`).join(' ')}`);
    return [];
  };
  const out = shapeOf(node, inputs, values, fail);
  for (const name of node.outputs) {
    if (shapes.has(name)) faults.push(`${name} is made twice`);
    shapes.set(name, out);
  }
}

/** Shape of a node's outputs from those of its inputs. */
function shapeOf(
  { type, inputs: names, outputs, attributes }: OnnxNode,
  inputs: Shape[],
  values: Map<string, number[]>,
  fail: (why: string) => Shape,
): Shape {
  const [a = [], b = []] = inputs;
  const axisOf = (shape: Shape, axis = attributes.get('axis') as number) =>
    axis < 0 ? axis + shape.length : axis;
  const axes = () => values.get(names[1]!) ?? [];
  switch (type) {
    case 'Add':
    case 'Sub':
    case 'Mul':
    case 'Div':
    case 'And':
    case 'Greater':
    case 'LessOrEqual':
      if (names.length !== 2) return fail('needs two inputs');
      return broadcast(a, b, fail);
    case 'Where':
      return broadcast(broadcast(a, b, fail), inputs[2] ?? [], fail);
    case 'Sqrt':
    case 'Tanh':
    case 'Sigmoid':
    case 'Softmax':
      return names.length === 1 ? a : fail('needs one input');
    case 'Gather':
      return [...b, ...a.slice(1)];
    case 'Shape':
      return [a.length];
    case 'Range':
      return inputs.every((shape) => shape.length === 0) ? [`${outputs[0]}`] : fail('takes scalars');
    case 'Squeeze':
      return a.every((size) => size === 1) ? [] : fail('only ones can be dropped');
    case 'Unsqueeze': {
      const shape = [...a];
      for (const axis of axes()) shape.splice(axis, 0, 1);
      return shape;
    }
    case 'Transpose': {
      const perm = attributes.get('perm') as number[];
      return perm?.length === a.length ? perm.map((i) => a[i]!) : fail('the permutation does not fit');
    }
    case 'Split': {
      const size = a.at(-1);
      if (typeof size !== 'number' || size % outputs.length !== 0) return fail('does not divide');
      return [...a.slice(0, -1), size / outputs.length];
    }
    case 'Concat': {
      const at = axisOf(a);
      const rest = inputs.some(
        (s) => s.length !== a.length || s.some((size, i) => i !== at && size !== a[i]),
      );
      if (rest) return fail('the other sizes differ');
      const sizes = inputs.map((s) => s[at]!);
      const fixed = sizes.every((size) => typeof size === 'number');
      return a.map((size, i) =>
        i !== at ? size : fixed ? (sizes as number[]).reduce((x, y) => x + y) : sizes.join(' + '),
      );
    }
    case 'ReduceMean':
      return [...a.slice(0, -1), 1];
    case 'Reshape': {
      const wanted = (values.get(names[1]!) ?? []).map((size, i) => (size === 0 ? a[i]! : size));
      const fixed = (shape: Shape) => shape.reduce<number>((x, y) => x * (typeof y === 'number' ? y : 1), 1);
      return fixed(wanted) === fixed(a) ? wanted : fail(`no reshape to [${wanted}]`);
    }
    case 'MatMul': {
      const [m, k] = [a.at(-2), a.at(-1)];
      const [k2, n] = [b.at(-2), b.at(-1)];
      if (sums([k!]) !== sums([k2!])) return fail('the inner sizes differ');
      return [...broadcast(a.slice(0, -2), b.slice(0, -2), fail), m!, n!];
    }
    default:
      return fail('an operator that the check does not know');
  }
}

function broadcast(a: Shape, b: Shape, fail: (why: string) => Shape): Shape {
  const length = Math.max(a.length, b.length);
  return Array.from({ length }, (_, i) => {
    const x = a[a.length - length + i] ?? 1;
    const y = b[b.length - length + i] ?? 1;
    if (x === 1) return y;
    if (y === 1 || x === y) return x;
    // A range's own length is known to the graph alone; the declared names meet it in the mask.
    if (typeof x === 'string' && typeof y === 'string') return /^Range/.test(x) ? y : x;
    fail(`${x} meets ${y}`);
    return x;
  });
}

const sums = (shape: Shape): string => shape.map((size) => String(size)).join(',');
const readInt64 = (raw: Uint8Array): number[] => {
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  return Array.from({ length: raw.length / 8 }, (_, i) => Number(view.getBigInt64(8 * i, true)));
};

/** The declared inputs and outputs, name → type and sizes. */
export const declared = ({ inputs, outputs }: OnnxFile) => ({
  inputs: Object.fromEntries(inputs.map(({ name, type, dims }) => [name, [type, ...dims]])),
  outputs: Object.fromEntries(outputs.map(({ name, type, dims }) => [name, [type, ...dims]])),
});

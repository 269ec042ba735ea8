import { ProtoWriter } from './protobuf.ts';

/** Element types of TensorProto. */
export const FLOAT = 1;
export const INT64 = 7;
export const BOOL = 9;
export const FLOAT16 = 10;

/** Types of AttributeProto. */
const ATTRIBUTE_INT = 2;
const ATTRIBUTE_INTS = 7;

/** A fixed size, or the name of one that the caller chooses. */
export type Dimension = number | string;

/**
 * Builds an ONNX graph node by node and writes the model. Operators are named as in the ONNX standard; each method
 * returns the name of the value it makes. Field numbers: onnx/onnx.proto of ONNX 1.12 (IR version 8).
 */
export class OnnxGraph {
  readonly #nodes = new ProtoWriter();
  readonly #initializers = new ProtoWriter();
  readonly #inputs = new ProtoWriter();
  readonly #outputs = new ProtoWriter();
  readonly #constants = new Map<string, string>();
  #count = 0;

  /** A node with one output. `attributes` are integers or lists of integers. */
  op(
    type: string,
    inputs: readonly string[],
    attributes: Record<string, number | readonly number[]> = {},
    output = this.#fresh(type),
  ): string {
    this.#node(type, inputs, [output], attributes);
    return output;
  }

  /** Cuts the last axis into `parts` equal pieces. */
  split(input: string, parts: number): string[] {
    const outputs = Array.from({ length: parts }, () => this.#fresh('Split'));
    this.#node('Split', [input], outputs, { axis: -1 });
    return outputs;
  }

  /** A float32 tensor stored in the file. A Float32Array is not copied before `model`. */
  floats(name: string, shape: readonly number[], values: ArrayLike<number>): string {
    return this.#initializer(name, FLOAT, shape, floatBytes(values));
  }

  /** An int64 vector stored in the file; equal ones are stored once. */
  ints(...values: number[]): string {
    return this.#constant(`ints_${values.join('_')}`, (name) => {
      const raw = new DataView(new ArrayBuffer(8 * values.length));
      for (const [i, value] of values.entries()) raw.setBigInt64(8 * i, BigInt(value), true);
      return this.#initializer(name, INT64, [values.length], new Uint8Array(raw.buffer));
    });
  }

  /** A float32 scalar stored in the file; equal ones are stored once. */
  float(value: number): string {
    return this.#constant(`float_${value}`, (name) => this.floats(name, [], [value]));
  }

  input(name: string, type: number, shape: readonly Dimension[]): string {
    this.#inputs.message(11, valueInfo(name, type, shape));
    return name;
  }

  output(name: string, type: number, shape: readonly Dimension[]): void {
    this.#outputs.message(12, valueInfo(name, type, shape));
  }

  /** The whole ModelProto. */
  model(name: string, opset: number, metadata: Readonly<Record<string, string>>): Uint8Array<ArrayBuffer> {
    const graph = new ProtoWriter();
    graph
      .append(this.#nodes)
      .text(2, name)
      .append(this.#initializers)
      .append(this.#inputs)
      .append(this.#outputs);
    const model = new ProtoWriter()
      .int(1, 8)
      .text(2, 'Rollout Lab')
      .message(7, graph)
      .message(8, new ProtoWriter().text(1, '').int(2, opset));
    for (const [key, value] of Object.entries(metadata))
      model.message(14, new ProtoWriter().text(1, key).text(2, value));
    return model.finish();
  }

  #fresh(type: string): string {
    return `${type}_${this.#count++}`;
  }

  #node(
    type: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Record<string, number | readonly number[]>,
  ): void {
    const node = new ProtoWriter();
    for (const input of inputs) node.text(1, input);
    for (const output of outputs) node.text(2, output);
    node.text(3, `${type}_of_${outputs[0]}`).text(4, type);
    for (const [name, value] of Object.entries(attributes)) node.message(5, attribute(name, value));
    this.#nodes.message(1, node);
  }

  #constant(name: string, make: (name: string) => string): string {
    const known = this.#constants.get(name) ?? make(name);
    this.#constants.set(name, known);
    return known;
  }

  #initializer(name: string, type: number, shape: readonly number[], raw: Uint8Array): string {
    const tensor = new ProtoWriter();
    for (const size of shape) tensor.int(1, size);
    tensor.int(2, type).text(8, name).bytes(9, raw);
    this.#initializers.message(5, tensor);
    return name;
  }
}

const LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** Float32 in little-endian order, as ONNX stores it: the memory itself where the machine's order is the same. */
function floatBytes(values: ArrayLike<number>): Uint8Array {
  if (LITTLE_ENDIAN) {
    const floats = values instanceof Float32Array ? values : Float32Array.from(values);
    return new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);
  }
  const raw = new DataView(new ArrayBuffer(4 * values.length));
  for (let i = 0; i < values.length; i++) raw.setFloat32(4 * i, values[i]!, true);
  return new Uint8Array(raw.buffer);
}

function attribute(name: string, value: number | readonly number[]): ProtoWriter {
  const out = new ProtoWriter().text(1, name);
  if (typeof value === 'number') return out.int(3, value).int(20, ATTRIBUTE_INT);
  for (const item of value) out.int(8, item);
  return out.int(20, ATTRIBUTE_INTS);
}

function valueInfo(name: string, type: number, shape: readonly Dimension[]): ProtoWriter {
  const dimensions = new ProtoWriter();
  for (const size of shape)
    dimensions.message(
      1,
      typeof size === 'number' ? new ProtoWriter().int(1, size) : new ProtoWriter().text(2, size),
    );
  const tensor = new ProtoWriter().int(1, type).message(2, dimensions);
  return new ProtoWriter().text(1, name).message(2, new ProtoWriter().message(1, tensor));
}

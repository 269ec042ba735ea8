import { LabError } from '../../base/errors.ts';
import type { Dimension } from './graph.ts';
import { type ProtoField, readFields, readInts, readText } from './protobuf.ts';

/** A tensor as a file declares it: an input, an output or a stored weight. `type` is TensorProto's element type. */
export interface OnnxTensor {
  name: string;
  type: number;
  /** Empty names stand for dimensions that the file says nothing about. */
  dims: Dimension[];
}

export interface OnnxNode {
  name: string;
  type: string;
  domain: string;
  inputs: string[];
  outputs: string[];
  /** Whole numbers and lists of them; attributes of other kinds are left out. */
  attributes: Map<string, number | number[]>;
}

/** What an ONNX file says of itself. */
export interface OnnxFile {
  /** Version of the format. */
  ir: number;
  /** Version of the operators by domain; the standard one is ''. */
  opsets: Map<string, number>;
  metadata: Map<string, string>;
  /** Inputs that a caller gives. */
  inputs: OnnxTensor[];
  outputs: OnnxTensor[];
  nodes: OnnxNode[];
  /** Stored weights, with their bytes where they lie in the file as such. */
  weights: (OnnxTensor & { raw: Uint8Array | null })[];
  /** Names of the files beside this one that hold weights of it. */
  external: string[];
}

/** Deepest graph inside a graph (the branches of an `If`) that is read. */
const DEEPEST = 8;

/**
 * Reads an ONNX model without running anything of it. Field numbers: onnx/onnx.proto of ONNX 1.12.
 * @throws LabError where the bytes are no ONNX model.
 */
export function readOnnx(bytes: Uint8Array): OnnxFile {
  const file: OnnxFile = {
    ir: 0,
    opsets: new Map(),
    metadata: new Map(),
    inputs: [],
    outputs: [],
    nodes: [],
    weights: [],
    external: [],
  };
  try {
    for (const { field, value, bytes: part } of readFields(bytes)) {
      if (field === 1) file.ir = value;
      if (!part) continue;
      if (field === 7) readGraph(part, file, 0);
      if (field === 8) {
        const { texts, ints } = entries(part);
        file.opsets.set(texts.get(1) ?? '', ints.get(2) ?? 0);
      }
      if (field === 14) {
        const { texts } = entries(part);
        file.metadata.set(texts.get(1) ?? '', texts.get(2) ?? '');
      }
    }
  } catch (cause) {
    if (cause instanceof LabError) throw cause;
    throw broken(cause instanceof Error ? cause.message : String(cause));
  }
  if (file.ir < 1 || file.nodes.length === 0 || file.outputs.length === 0)
    throw broken('it holds no graph with nodes and outputs');
  const stored = new Set(file.weights.map(({ name }) => name));
  file.inputs = file.inputs.filter(({ name }) => !stored.has(name));
  return file;
}

function broken(why: string): LabError {
  return new LabError(`this is no ONNX model, or a damaged one (${why})`, {
    where: 'the file',
    remedy: 'choose an undamaged .onnx file',
  });
}

/** Adds a graph, and the graphs inside its nodes, to what is known of the file. Only the outermost has inputs. */
function readGraph(bytes: Uint8Array, file: OnnxFile, depth: number): void {
  if (depth > DEEPEST) throw broken(`graphs within graphs, more than ${DEEPEST} deep`);
  for (const { field, bytes: part } of readFields(bytes)) {
    if (!part) continue;
    if (field === 1) file.nodes.push(readNode(part, file, depth));
    if (field === 5) file.weights.push(readWeight(part, file));
    if (field === 11 && depth === 0) file.inputs.push(readValue(part));
    if (field === 12 && depth === 0) file.outputs.push(readValue(part));
  }
}

function readNode(bytes: Uint8Array, file: OnnxFile, depth: number): OnnxNode {
  const node: OnnxNode = { name: '', type: '', domain: '', inputs: [], outputs: [], attributes: new Map() };
  for (const { field, bytes: part } of readFields(bytes)) {
    if (!part) continue;
    if (field === 1) node.inputs.push(readText(part));
    if (field === 2) node.outputs.push(readText(part));
    if (field === 3) node.name = readText(part);
    if (field === 4) node.type = readText(part);
    if (field === 7) node.domain = readText(part);
    if (field === 5) readAttribute(part, node, file, depth);
  }
  return node;
}

function readAttribute(bytes: Uint8Array, node: OnnxNode, file: OnnxFile, depth: number): void {
  let name = '';
  const ints: number[] = [];
  let single: number | null = null;
  for (const entry of readFields(bytes)) {
    const { field, value, bytes: part } = entry;
    if (field === 3) single = value;
    if (field === 8) for (const number of readInts(entry)) ints.push(number);
    if (!part) continue;
    if (field === 1) name = readText(part);
    if (field === 5) readWeight(part, file);
    if (field === 6 || field === 11) readGraph(part, file, depth + 1);
  }
  if (ints.length > 0) node.attributes.set(name, ints);
  else if (single !== null) node.attributes.set(name, single);
}

/** A stored tensor; where its content lies in another file, that file is noted. */
function readWeight(bytes: Uint8Array, file: OnnxFile): OnnxFile['weights'][number] {
  const weight: OnnxFile['weights'][number] = { name: '', type: 0, dims: [], raw: null };
  let outside = false;
  let place = '';
  for (const entry of readFields(bytes)) {
    const { field, value, bytes: part } = entry;
    if (field === 1) for (const size of readInts(entry)) weight.dims.push(size);
    if (field === 2) weight.type = value;
    if (field === 14) outside = value === 1;
    if (!part) continue;
    if (field === 8) weight.name = readText(part);
    if (field === 9) weight.raw = part;
    if (field === 13) {
      const { texts } = entries(part);
      if (texts.get(1) === 'location') place = texts.get(2) ?? '';
    }
  }
  if (outside && !file.external.includes(place)) file.external.push(place);
  return weight;
}

function readValue(bytes: Uint8Array): OnnxTensor {
  const value: OnnxTensor = { name: '', type: 0, dims: [] };
  for (const { field, bytes: part } of readFields(bytes)) {
    if (!part) continue;
    if (field === 1) value.name = readText(part);
    if (field === 2) for (const type of messages(part, 1)) readTensorType(type, value);
  }
  return value;
}

function readTensorType(bytes: Uint8Array, value: OnnxTensor): void {
  for (const { field, value: number, bytes: part } of readFields(bytes)) {
    if (field === 1) value.type = number;
    if (field !== 2 || !part) continue;
    for (const dim of messages(part, 1)) {
      const { texts, ints } = entries(dim);
      value.dims.push(ints.get(1) ?? texts.get(2) ?? '');
    }
  }
}

function* messages(bytes: Uint8Array, wanted: number): Generator<Uint8Array> {
  for (const { field, bytes: part } of readFields(bytes)) if (field === wanted && part) yield part;
}

/** A small message of texts and whole numbers, by field. */
function entries(bytes: Uint8Array): { texts: Map<number, string>; ints: Map<number, number> } {
  const texts = new Map<number, string>();
  const ints = new Map<number, number>();
  for (const { field, value, bytes: part } of readFields(bytes) as Iterable<ProtoField>) {
    if (part) texts.set(field, readText(part));
    else ints.set(field, value);
  }
  return { texts, ints };
}

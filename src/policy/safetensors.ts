import { LabError } from '../base/errors.ts';
import { isObject, type Json, type JsonObject } from '../base/json.ts';
import type { PolicyShape } from './engine.ts';
import { layout, type Tensor } from './layout.ts';
import { checkCheckpoint, checkShape } from './shape.ts';
import { readTraining, TRAINING_FIELDS, type TrainingCheckpoint, writeTraining } from './training.ts';

/** Longest header read, in bytes; a policy's takes some kilobytes. */
const LONGEST_HEADER = 1 << 24;
const FORMAT = 'rollout-lab-policy';
/** The version that is written. Older ones are read, newer ones refused. */
const VERSION = 2;
const RESERVED = ['format', 'step', 'shape', ...TRAINING_FIELDS];

interface Buffer {
  field: 'parameters' | 'moment1' | 'moment2';
  prefix: string;
}

/** The three flat buffers and what stands before the names of their tensors in the file, by version of the format. */
const BUFFERS: Record<number, Buffer[]> = {
  1: [
    { field: 'parameters', prefix: '' },
    { field: 'moment1', prefix: 'moment1.' },
    { field: 'moment2', prefix: 'moment2.' },
  ],
  2: [
    { field: 'parameters', prefix: '' },
    { field: 'moment1', prefix: 'optimizer.exp_avg.' },
    { field: 'moment2', prefix: 'optimizer.exp_avg_sq.' },
  ],
};

/** Where a tensor lies: bytes [begin, end) of the data after the header. */
interface Entry {
  name: string;
  begin: number;
  end: number;
}

/**
 * A checkpoint as a safetensors file: all tensors F32, little-endian, in layout order under the names of `layout`, then
 * AdamW's moments as `optimizer.exp_avg.…` and `optimizer.exp_avg_sq.…`. `__metadata__` holds, all as text, `format`
 * (its version last), `step`, `shape` (JSON), the parts of the training state (`cursor`, `streams` and `run` in JSON,
 * `vocabulary`) where there is one, and `metadata`. Nothing in it depends on the machine.
 * Source of the format: the safetensors README, section "Format".
 * @param options.optimiser false leaves the moments out, for a third of the size; a run can't be resumed bit for bit from it.
 * @throws LabError on a checkpoint that is not whole and finite, or on metadata under a reserved name.
 */
export function writeSafetensors(
  checkpoint: TrainingCheckpoint,
  metadata: Readonly<Record<string, string>> = {},
  options: { optimiser?: boolean } = {},
): Uint8Array {
  checkCheckpoint(checkpoint);
  for (const key of RESERVED)
    if (Object.hasOwn(metadata, key))
      throw new LabError(`metadata may not be called “${key}”`, {
        where: `metadata.${key}`,
        remedy: 'choose another name; this one is written from the checkpoint',
      });
  const { tensors } = layout(checkpoint.shape);
  const header: JsonObject = {
    __metadata__: {
      ...metadata,
      format: `${FORMAT}-${VERSION}`,
      step: String(checkpoint.step),
      shape: JSON.stringify(checkpoint.shape),
      ...(checkpoint.training ? writeTraining(checkpoint.training) : {}),
    },
  };
  const buffers = BUFFERS[VERSION]!.slice(0, options.optimiser === false ? 1 : 3);
  let end = 0;
  for (const { prefix } of buffers)
    for (const { name, shape, size } of tensors) {
      const begin = end;
      end += 4 * size;
      header[prefix + name] = { dtype: 'F32', shape, data_offsets: [begin, end] };
    }
  const text = new TextEncoder().encode(JSON.stringify(header));
  // Trailing spaces are part of the format; they align the data for readers that map it.
  const headerLength = Math.ceil(text.length / 8) * 8;
  const bytes = new Uint8Array(8 + headerLength + end);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(headerLength), true);
  bytes.fill(0x20, 8, 8 + headerLength);
  bytes.set(text, 8);
  let at = 8 + headerLength;
  for (const { field } of buffers)
    for (const { offset, size } of tensors)
      for (let i = offset; i < offset + size; i++, at += 4) view.setFloat32(at, checkpoint[field][i]!, true);
  return bytes;
}

/**
 * Reads what `writeSafetensors` wrote, in this version of the format or an older one, bit for bit. Moments that the file
 * leaves out are 0. Files of version 1 hold no training state.
 * @throws LabError that says what is wrong and where: a file cut short, a header that is no JSON, tensors that overlap,
 * leave holes, run past the end, are unknown, missing, or of another type or shape than the policy's, numbers that
 * are not finite, a training state that is none, a version of the format that is newer than this lab.
 */
export function readSafetensors(bytes: Uint8Array): TrainingCheckpoint {
  const { header, data } = split(bytes);
  const { shape, step, version, training } = readMetadata(header.__metadata__);
  const names = Object.keys(header).filter((name) => name !== '__metadata__');
  // Compared before any layout is made, so that a damaged shape asks for no memory.
  const each = 6 * shape.layers + 2;
  if (names.length !== each && names.length !== 3 * each)
    refuse(
      `${names.length} tensors where a policy of ${shape.layers} layers has ${each}, with the optimiser ${3 * each}`,
      'header',
    );
  const { tensors, count } = layout(shape);
  const buffers = BUFFERS[version]!.slice(0, names.length === each ? 1 : 3);
  const wanted = buffers.flatMap(({ prefix }) =>
    tensors.map((tensor) => ({ name: prefix + tensor.name, tensor })),
  );
  const entries = new Map(
    wanted.map(({ name, tensor }) => [name, readEntry(name, header[name], tensor)] as const),
  );
  checkCover([...entries.values()], data.byteLength);
  const checkpoint: TrainingCheckpoint = {
    shape,
    step,
    parameters: new Float32Array(count),
    moment1: new Float32Array(count),
    moment2: new Float32Array(count),
    ...(training ? { training } : {}),
  };
  for (const { field, prefix } of buffers)
    for (const { name, offset, size } of tensors) {
      const { begin } = entries.get(prefix + name)!;
      for (let i = 0; i < size; i++) checkpoint[field][offset + i] = data.getFloat32(begin + 4 * i, true);
    }
  checkCheckpoint(checkpoint);
  return checkpoint;
}

/** Takes the file apart into its header, parsed, and the data after it. */
function split(bytes: Uint8Array): { header: JsonObject; data: DataView } {
  if (bytes.length < 8) refuse(`${bytes.length} bytes; even an empty file has 8`, 'byte 0');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getBigUint64(0, true);
  const room = Math.min(LONGEST_HEADER, bytes.length - 8);
  if (length > BigInt(room)) refuse(`the header claims ${length} bytes where ${room} are possible`, 'byte 0');
  const end = 8 + Number(length);
  let header: Json;
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(8, end))) as Json;
  } catch (cause) {
    throw new LabError('the header is no JSON in UTF-8', { where: 'bytes 8 and on', remedy: REMEDY, cause });
  }
  if (!isObject(header)) return refuse('the header is no JSON object', 'byte 8');
  return { header, data: new DataView(bytes.buffer, bytes.byteOffset + end, bytes.length - end) };
}

interface Metadata {
  version: number;
  shape: PolicyShape;
  step: number;
  training: TrainingCheckpoint['training'];
}

function readMetadata(metadata: Json | undefined): Metadata {
  if (metadata === undefined || !isObject(metadata))
    return refuse(`this is no policy of the lab (format “${FORMAT}-${VERSION}”)`, '__metadata__.format');
  const version = readVersion(metadata.format);
  const { step, shape } = metadata;
  if (typeof step !== 'string' || !/^\d{1,15}$/.test(step))
    return refuse('the step is no whole number', '__metadata__.step');
  let sizes: Json = null;
  try {
    sizes = JSON.parse(typeof shape === 'string' ? shape : '') as Json;
  } catch {
    return refuse('the shape is no JSON', '__metadata__.shape');
  }
  if (!isObject(sizes)) return refuse('the shape is no JSON object', '__metadata__.shape');
  const size = (field: keyof PolicyShape) => {
    const value = (sizes as JsonObject)[field];
    return typeof value === 'number' ? value : Number.NaN;
  };
  const read: PolicyShape = {
    vocab: size('vocab'),
    width: size('width'),
    layers: size('layers'),
    heads: size('heads'),
    hidden: size('hidden'),
    context: size('context'),
  };
  // What is no kind of MLP is refused by `checkShape`, which names it.
  if (sizes.mlp !== undefined) read.mlp = sizes.mlp as NonNullable<PolicyShape['mlp']>;
  checkShape(read);
  return { version, shape: read, step: Number(step), training: readTraining(metadata) };
}

function readVersion(format: Json | undefined): number {
  const version = new RegExp(`^${FORMAT}-(\\d{1,6})$`).exec(typeof format === 'string' ? format : '')?.[1];
  if (version === undefined || Number(version) < 1)
    return refuse(`this is no policy of the lab (format “${FORMAT}-${VERSION}”)`, '__metadata__.format');
  if (Number(version) > VERSION)
    throw new LabError(`a newer lab wrote this file (format ${version}; this one reads up to ${VERSION})`, {
      where: '__metadata__.format',
      remedy: 'use the newest lab: reload the page, or update the checkout',
    });
  return Number(version);
}

function readEntry(name: string, entry: Json | undefined, tensor: Tensor): Entry {
  const where = `tensor “${name}”`;
  if (entry === undefined) return refuse('the tensor is missing', where);
  if (!isObject(entry)) return refuse('its entry is no JSON object', where);
  if (entry.dtype !== 'F32') return refuse(`its type is ${JSON.stringify(entry.dtype)}, not F32`, where);
  const wanted = JSON.stringify(tensor.shape);
  if (JSON.stringify(entry.shape) !== wanted)
    return refuse(`its shape is ${JSON.stringify(entry.shape)}, not ${wanted}`, where);
  const offsets = entry.data_offsets;
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every((o) => Number.isSafeInteger(o)))
    return refuse('its data_offsets are no pair of whole numbers', where);
  const [begin, end] = offsets as [number, number];
  if (begin < 0 || end - begin !== 4 * tensor.size)
    return refuse(`its data_offsets [${begin}, ${end}] do not hold ${4 * tensor.size} bytes`, where);
  return { name, begin, end };
}

/** The tensors cover the data exactly: no overlap, no hole, nothing past the end. */
function checkCover(entries: Entry[], length: number): void {
  let covered = 0;
  let before = 'the header';
  for (const { name, begin, end } of entries.sort((a, b) => a.begin - b.begin)) {
    const where = `tensor “${name}”`;
    if (begin < covered) refuse(`it overlaps ${before} (begins at byte ${begin}, not ${covered})`, where);
    if (begin > covered) refuse(`there is a hole of ${begin - covered} bytes before it`, where);
    if (end > length) refuse(`it ends at byte ${end} of data that has ${length}`, where);
    covered = end;
    before = `tensor “${name}”`;
  }
  if (covered !== length) refuse(`${length - covered} bytes follow the last tensor`, `data byte ${covered}`);
}

const REMEDY = 'load an undamaged .safetensors file that this lab wrote';

function refuse(what: string, where: string): never {
  throw new LabError(what, { where, remedy: REMEDY });
}

import { LabError } from '../../base/errors.ts';
import type { OnnxFile, OnnxTensor } from './file.ts';
import { BOOL, FLOAT, FLOAT16, INT64 } from './graph.ts';

const INT32 = 6;

/** Element types of what a causal language model is given and gives, as runtimes name them. */
const TYPES = new Map([
  [FLOAT, 'float32'],
  [FLOAT16, 'float16'],
  [INT32, 'int32'],
  [INT64, 'int64'],
  [BOOL, 'bool'],
] as const);
export type ElementType = 'float32' | 'float16' | 'int32' | 'int64' | 'bool';
export type Real = 'float32' | 'float16';

/** An input of token ids, marks or places, [B, S]. */
export interface IdInput {
  name: string;
  type: 'int32' | 'int64';
}

/** One input of the cache and the output that follows on it. */
export interface CacheSlot {
  input: string;
  output: string;
  type: Real;
  /** A size, `batch`, or `past`, which grows. */
  dims: (number | 'batch' | 'past')[];
}

/** Which input and output of a file plays which part. */
export interface CausalRoles {
  ids: IdInput;
  mask: IdInput | null;
  positions: IdInput | null;
  /** Flag of exports that hold a model with and one without a past: whether there is one. */
  branch: string | null;
  /** How many of the last logits are wanted; 0 = all. */
  keep: IdInput | null;
  cache: CacheSlot[];
  logits: { name: string; type: Real };
  /** V where the file says it. */
  vocab: number | null;
}

/**
 * Decides the roles of the inputs and outputs of a decoder-only language model by the names that Optimum,
 * transformers.js and this lab write: `input_ids`, `attention_mask`, `position_ids`, `past_key_values.N.…` →
 * `present.N.…`, `use_cache_branch`, `num_logits_to_keep` → `logits`.
 * @throws LabError that says why the file is no such model: an encoder, encoder–decoder or classifier, no logits, unknown
 * inputs, element types that can't be read, a cache whose sizes are not known.
 */
export function causalRoles(file: OnnxFile): CausalRoles {
  const inputs = new Map(file.inputs.map((input) => [input.name, input]));
  refuseOthers(file, inputs);
  const take = (name: string): OnnxTensor | undefined => {
    const found = inputs.get(name);
    inputs.delete(name);
    return found;
  };
  const id = (name: string): IdInput | null => {
    const found = take(name);
    if (!found) return null;
    const type = typeOf(found);
    if (type !== 'int64' && type !== 'int32')
      return refuse(`its type is ${type}, not int64`, `input ${name}`);
    return { name, type };
  };
  const ids = id('input_ids');
  if (!ids) return refuse(`it has no input input_ids, but ${list(file.inputs)}`, 'inputs');
  const roles = {
    ids,
    mask: id('attention_mask'),
    positions: id('position_ids'),
    branch: take('use_cache_branch')?.name ?? null,
    keep: id('num_logits_to_keep'),
    cache: cacheSlots(file, inputs),
    ...logitsOf(file),
  };
  if (inputs.size > 0) refuse(`nobody knows what to give to ${list([...inputs.values()])}`, 'inputs');
  return roles;
}

/** Models of other kinds have marks of their own; each gets its own sentence. */
function refuseOthers(file: OnnxFile, inputs: ReadonlyMap<string, OnnxTensor>): void {
  const given = [...inputs.keys()];
  if (
    given.some((name) => /^(decoder_|encoder_)/.test(name)) ||
    given.some((name) => /\.(de|en)coder\./.test(name))
  )
    refuse(`it is an encoder–decoder, or half of one (${list(file.inputs)})`, 'inputs');
  if (inputs.has('token_type_ids')) refuse('it is an encoder: it takes token_type_ids', 'inputs');
  if (file.outputs.some(({ name }) => name === 'logits')) return;
  const hidden = file.outputs.some(({ name }) => /hidden_state|pooler|embedding/.test(name));
  refuse(
    `it has no output logits, but ${list(file.outputs)}${hidden ? ': an encoder, or a model without its head' : ''}`,
    'outputs',
  );
}

function logitsOf(file: OnnxFile): Pick<CausalRoles, 'logits' | 'vocab'> {
  const found = file.outputs.find(({ name }) => name === 'logits') as OnnxTensor;
  const type = typeOf(found);
  if (type !== 'float32' && type !== 'float16')
    return refuse(`its type is ${type}; float32 and float16 can be read`, 'output logits');
  if (found.dims.length !== 3)
    return refuse(
      `it has ${found.dims.length} dimensions where a language model has batch, sequence, vocabulary: a classifier`,
      'output logits',
    );
  const vocab = found.dims[2];
  return { logits: { name: found.name, type }, vocab: typeof vocab === 'number' ? vocab : null };
}

function cacheSlots(file: OnnxFile, inputs: Map<string, OnnxTensor>): CacheSlot[] {
  const outputs = new Set(file.outputs.map(({ name }) => name));
  const slots: CacheSlot[] = [];
  for (const [input, tensor] of [...inputs]) {
    const part = /^past_key_values\.(\d+\.\w+)$/.exec(input)?.[1];
    if (part === undefined) continue;
    inputs.delete(input);
    const output = `present.${part}`;
    if (!outputs.has(output)) return refuse(`there is no output ${output} to follow on it`, `input ${input}`);
    const type = typeOf(tensor);
    if (type !== 'float32' && type !== 'float16')
      return refuse(`its type is ${type}; float32 and float16 can be given`, `input ${input}`);
    slots.push({ input, output, type, dims: tensor.dims.map((dim) => cacheDim(dim, input)) });
  }
  return slots;
}

function cacheDim(dim: number | string, input: string): CacheSlot['dims'][number] {
  if (typeof dim === 'number') return dim;
  if (/batch/i.test(dim)) return 'batch';
  if (/past|sequence/i.test(dim)) return 'past';
  return refuse(`nobody knows the size of its dimension “${dim}”`, `input ${input}`);
}

function typeOf({ type, name }: OnnxTensor): ElementType {
  return TYPES.get(type as never) ?? refuse(`its element type is number ${type} of ONNX`, name);
}

const list = (tensors: readonly OnnxTensor[]): string =>
  tensors.length > 0
    ? tensors
        .slice(0, 8)
        .map(({ name }) => name.slice(0, 60))
        .join(', ')
    : 'none';

function refuse(what: string, where: string): never {
  throw new LabError(what, {
    where,
    remedy:
      'export a decoder-only language model, as “optimum-cli export onnx --task text-generation-with-past” does',
  });
}

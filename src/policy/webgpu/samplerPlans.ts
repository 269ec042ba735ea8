import type { LabDevice } from '../../gpu/device.ts';
import type { Products } from '../../gpu/matmul.ts';
import { type Allocator, USAGE } from '../../gpu/memory.ts';
import { type Binding, type Launch, type Plan, recordPlan } from '../../gpu/plan.ts';
import type { PolicyShape } from '../engine.ts';
import { upRows } from '../layout.ts';
import { activateLaunches, launch } from './forward.ts';
import * as kernels from './kernels.ts';
import type { ParameterBuffers } from './parameters.ts';

/** Rows (rollout, position, token) that go through the layers together: a slab of a prompt, or one of each rollout. */
export interface RowList {
  /** Rows at most. */
  most: number;
  /** Uniform (n, step). */
  dims: GPUBuffer;
  rollouts: GPUBuffer;
  positions: GPUBuffer;
  tokens: GPUBuffer;
}

/** All that a sampler keeps on the device. R rollouts, `slab` rows at a time. */
export interface SamplerBuffers {
  /** One pair [R, context, D] a layer. */
  caches: { keys: GPUBuffer; values: GPUBuffer }[];
  prompt: RowList;
  newest: RowList;
  turn: GPUBuffer;
  next: GPUBuffer;
  header: GPUBuffer;
  /** Tokens + 1 and their log-probabilities [context, R, 2], row = step of the turn. */
  sampled: GPUBuffer;
  /** State of the grammar [R]. */
  states: GPUBuffer;
  stream: GPUBuffer;
  middle: GPUBuffer;
  normed: GPUBuffer;
  inverse: GPUBuffer;
  qkv: GPUBuffer;
  o: GPUBuffer;
  before: GPUBuffer;
  activated: GPUBuffer;
  logits: GPUBuffer;
}

/** Makes the sampler's buffers. @throws LabError where one of them exceeds the device's limits. */
export function createSamplerBuffers(
  memory: Allocator,
  shape: PolicyShape,
  rollouts: number,
  slab: number,
): SamplerBuffers {
  const { width, hidden, layers, context, vocab } = shape;
  const { UNIFORM, STORAGE, COPY_DST } = USAGE;
  const rows = (label: string, columns: number) => memory.storage(label, slab * columns);
  const list = (label: string, count: number): RowList => ({
    most: count,
    // Kernels read dims as a uniform; `compact` writes them.
    dims: memory.create(`${label} dims`, 16, UNIFORM | STORAGE | COPY_DST),
    rollouts: memory.storage(`${label} rollouts`, count),
    positions: memory.storage(`${label} positions`, count),
    tokens: memory.storage(`${label} tokens`, count),
  });
  const cache = rollouts * context * width;
  return {
    caches: Array.from({ length: layers }, (_, l) => ({
      keys: memory.storage(`${l} key cache`, cache),
      values: memory.storage(`${l} value cache`, cache),
    })),
    prompt: list('prompt', slab),
    newest: list('newest', rollouts),
    turn: memory.create('turn', 32, UNIFORM | COPY_DST),
    next: memory.storage('next rows', 4 * rollouts),
    header: memory.storage('row count', 4),
    sampled: memory.storage('sampled tokens', 2 * context * rollouts),
    states: memory.storage('grammar states', rollouts),
    stream: rows('stream', width),
    middle: rows('middle', width),
    normed: rows('normed', width),
    inverse: rows('inverse', 1),
    qkv: rows('qkv', 3 * width),
    o: rows('attention', width),
    before: rows('before activation', upRows(shape)),
    activated: rows('activated', hidden),
    logits: memory.storage('logits', rollouts * Math.ceil(vocab / 4) * 4),
  };
}

/** What the launches of a sampler bind. */
export interface SamplerStage {
  /** True where kernels run on the processor. */
  software: boolean;
  shape: PolicyShape;
  products: Products;
  parameters: ParameterBuffers;
  turns: GPUBuffer;
  buffers: SamplerBuffers;
  rollouts: number;
}

/**
 * `prefill` puts a slab of forced tokens into the cache; `step` takes one token of every row that goes on to its logits,
 * from which `createDrawPlan` goes on.
 */
export interface SamplerPlans {
  prefill: Plan;
  step: Plan;
}

/** Prompt rows that go through the layers at a time: at least as many as rollouts decode together. */
export const slabOf = (rollouts: number): number => Math.max(1024, rollouts);

/** The dispatches of both, still without pipelines. */
export function samplerLaunches(stage: SamplerStage): Record<keyof SamplerPlans, Launch[]> {
  const { shape, buffers } = stage;
  const layers = Array.from({ length: shape.layers }, (_, l) => l);
  const { prompt, newest } = buffers;
  // The last layer of a prefilled row serves its keys and values alone: nothing reads what comes after them.
  const prefill = [
    embedLaunch(stage, prompt),
    ...layers.flatMap((l) => [
      ...keyValueLaunches(stage, prompt, l),
      ...(l < shape.layers - 1 ? mixLaunches(stage, prompt, l) : []),
    ]),
  ];
  const step = [
    embedLaunch(stage, newest),
    ...layers.flatMap((l) => [...keyValueLaunches(stage, newest, l), ...mixLaunches(stage, newest, l)]),
    ...logitsLaunches(stage),
  ];
  return { prefill, step };
}

/** Compiles and records both. */
export async function createSamplerPlans(
  device: LabDevice,
  memory: Allocator,
  stage: SamplerStage,
): Promise<SamplerPlans> {
  const launches = samplerLaunches(stage);
  const [prefill, step] = await Promise.all([
    recordPlan(device.gpu, device.pipelines, memory, launches.prefill),
    recordPlan(device.gpu, device.pipelines, memory, launches.step),
  ]);
  return { prefill, step };
}

function embedLaunch({ shape, parameters, buffers }: SamplerStage, list: RowList): Launch {
  const embed = parameters.weights('embed');
  return launch(kernels.embedGather(shape.width, 'n'), list.dims, list.tokens, embed, buffers.stream);
}

/** The first half of a layer: q, and k and v into the cache. */
function keyValueLaunches(stage: SamplerStage, list: RowList, l: number): Launch[] {
  const { shape, products, parameters, turns, buffers } = stage;
  const { width, heads, context } = shape;
  const { stream, normed, inverse, qkv, caches } = buffers;
  const { keys, values } = caches[l]!;
  const weights = (name: string) => parameters.weights(`${l}.${name}`);
  const project = products.nt({ m: 3 * width, k: width }, 'plain', 'n', list.most);
  const turn = kernels.rotaryIntoCache({ heads, headWidth: width / heads }, context, 'n');
  return [
    launch(kernels.rmsNorm(width, 'n'), list.dims, stream, weights('norm1'), normed, inverse),
    launch(project, list.dims, normed, weights('qkv'), qkv),
    launch(turn, list.dims, list.positions, turns, qkv, list.rollouts, keys, values),
  ];
}

/** The rest of a layer: attention over the cache and the MLP, back into the stream. */
function mixLaunches(stage: SamplerStage, list: RowList, l: number): Launch[] {
  const { shape, products, parameters, buffers } = stage;
  const { width, heads, hidden, context } = shape;
  const { stream, middle, normed, inverse, qkv, o, before, activated, caches } = buffers;
  const { keys, values } = caches[l]!;
  const weights = (name: string): Binding => parameters.weights(`${l}.${name}`);
  const size = { heads, headWidth: width / heads };
  const attend = kernels.cachedAttention(size, context, kernels.cacheTilingFor(stage.software, size), 'n');
  const out = products.nt({ m: width, k: width }, 'residual', 'n', list.most);
  const down = products.nt({ m: width, k: hidden }, 'residual', 'n', list.most);
  return [
    launch(attend, list.dims, qkv, list.rollouts, list.positions, keys, values, o),
    launch(out, list.dims, o, weights('out'), middle, stream),
    launch(kernels.rmsNorm(width, 'n'), list.dims, middle, weights('norm2'), normed, inverse),
    ...activateLaunches(
      shape,
      products,
      { rows: 'n', most: list.most },
      {
        dims: list.dims,
        normed,
        up: weights('up'),
        before,
        activated,
      },
    ),
    launch(down, list.dims, activated, weights('down'), stream, middle),
  ];
}

/** Logits of the newest rows. */
function logitsLaunches({ shape, products, parameters, buffers }: SamplerStage): Launch[] {
  const { stream, normed, inverse, logits, newest } = buffers;
  const product = products.nt({ m: shape.vocab, k: shape.width }, 'plain', 'n', newest.most);
  const norm = parameters.weights('norm');
  return [
    launch(kernels.rmsNorm(shape.width, 'n'), newest.dims, stream, norm, normed, inverse),
    launch(product, newest.dims, normed, parameters.weights('embed'), logits),
  ];
}

/** One token a row of logits, and the rows of the next step. @param grammar null where anything may be said. */
export function createDrawPlan(
  device: LabDevice,
  memory: Allocator,
  { software, shape, buffers, rollouts }: SamplerStage,
  nucleus: boolean,
  grammar: GPUBuffer | null,
): Promise<Plan> {
  const { logits, newest, turn, next, header, sampled, states } = buffers;
  const { dims, positions, tokens } = newest;
  const tiling = kernels.rowTilingFor(software, shape.vocab);
  const draw = kernels.sample(shape.vocab, rollouts, tiling, { nucleus, grammar: grammar !== null }, 'n');
  const rows = [dims, turn, logits, newest.rollouts, positions, next, header, sampled];
  return recordPlan(device.gpu, device.pipelines, memory, [
    launch(draw, ...rows, ...(grammar ? [grammar, states] : [])),
    launch(
      kernels.compact(kernels.compactLanesFor(software)),
      header,
      next,
      dims,
      newest.rollouts,
      positions,
      tokens,
    ),
  ]);
}

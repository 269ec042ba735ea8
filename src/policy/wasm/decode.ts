import type { NewRows } from '../cpuSampler.ts';
import { upRows } from '../layout.ts';
import { type Address, matmulNt } from './kernels.ts';
import type { Ground, Machine } from './machine.ts';
import type { Block } from './memory.ts';
import { finishLayer } from './model.ts';
import { logitRows, rounded } from './workspace.ts';

/** Rows that go through the layers at a time. */
export const ROWS = 256;

/** Keys and values of one layer; see kernels/decode.ts. */
export type Cache = Block<'keys' | 'values'>;

/** Scratch of a sampler for `rollouts` rollouts. @throws LabError where the memory does not hold it. */
export function allocateScratch({ memory, shape }: Ground, rollouts: number) {
  const { width, hidden, vocab, context } = shape;
  const face = ROWS * width;
  return memory.allocate(
    {
      tokens: ROWS,
      rollouts: ROWS,
      positions: ROWS,
      x: face,
      h1: face,
      qkv: 3 * face,
      o: face,
      mid: face,
      h2: face,
      up: ROWS * upRows(shape),
      act: ROWS * hidden,
      scores: shape.heads * rounded(context),
      /** Rows of the newest tokens, their rollouts, and what goes on of them. */
      chosen: ROWS,
      chosenRollouts: ROWS,
      xChosen: face,
      oChosen: face,
      /** Last norm's output of the newest token of each rollout [R, D]. */
      newest: rollouts * width,
      /** The same of some rollouts that are drawn for, and their logits. */
      drawn: logitRows(vocab),
      picked: logitRows(vocab) * width,
      logits: logitRows(vocab) * rounded(vocab),
    },
    purpose(rollouts),
  );
}

export type Scratch = ReturnType<typeof allocateScratch>['at'];

/** @throws LabError where the memory does not hold it. */
export function allocateCache({ memory, shape, headWidth }: Ground, rollouts: number): Cache {
  const positions = rollouts * shape.heads * rounded(shape.context);
  return memory.allocate(
    { keys: positions * headWidth, values: positions * rounded(headWidth) },
    purpose(rollouts),
  );
}

const purpose = (rollouts: number) => ({
  what: `a sampler for ${rollouts} rollouts`,
  remedy: 'lower the rollouts, the context or the layers',
});

/** Takes new tokens through the layers and into the caches; leaves `newest` of their rollouts. */
export function append(machine: Machine, at: Scratch, caches: readonly Cache[], rows: NewRows): void {
  const { kernels, shape, headWidth, weights, memory, at: policy } = machine;
  const { width: d, heads, context } = shape;
  const { count: n, newest } = rows;
  for (const name of ['tokens', 'rollouts', 'positions'] as const)
    memory.ids(at[name], n).set(rows[name].subarray(0, n));
  memory.ids(at.chosen, newest.length).set(newest);
  memory.ids(at.chosenRollouts, newest.length).set(newest.map((row) => rows.rollouts[row]!));
  const size = [n, heads, headWidth, context] as const;
  kernels.gatherRows(at.tokens, weights.embed, at.x, n, d);
  for (const [l, w] of weights.layers.entries()) {
    const { keys, values } = caches[l]!.at;
    kernels.rmsNorm(at.x, w.norm1, at.h1, n, d);
    matmulNt(kernels, { a: at.h1, b: w.qkv, c: at.qkv, n, m: 3 * d, k: d });
    kernels.rotary(at.qkv, at.positions, policy.turns, n, heads, headWidth, 1);
    kernels.storeKeyValue(at.qkv, at.rollouts, at.positions, keys, values, ...size);
    kernels.decodeAttention(at.qkv, at.rollouts, at.positions, keys, values, at.scores, at.o, ...size);
    if (l < shape.layers - 1) finishLayer(machine, w, at, { x: at.x, o: at.o, next: at.x }, n);
  }
  kernels.gatherRows(at.chosen, at.x, at.xChosen, newest.length, d);
  kernels.gatherRows(at.chosen, at.o, at.oChosen, newest.length, d);
  const faces = { x: at.xChosen, o: at.oChosen, next: at.xChosen };
  finishLayer(machine, weights.layers.at(-1)!, at, faces, newest.length);
  kernels.rmsNorm(at.xChosen, weights.norm, at.h1, newest.length, d);
  kernels.scatterRows(at.chosenRollouts, at.h1, at.newest, newest.length, d);
}

/** Visits the logits of some rollouts after their newest tokens: V numbers from `from` of an array that ends with the visit. */
export function logitsOf(
  { kernels, memory, shape, weights }: Machine,
  at: Scratch,
  rollouts: readonly number[],
  visit: (rollout: number, logits: Float32Array, from: number) => void,
): void {
  const { width: d, vocab } = shape;
  const block = logitRows(vocab);
  const stride = rounded(vocab);
  const c: Address = at.logits;
  for (let first = 0; first < rollouts.length; first += block) {
    const some = rollouts.slice(first, first + block);
    memory.ids(at.drawn, some.length).set(some);
    kernels.gatherRows(at.drawn, at.newest, at.picked, some.length, d);
    kernels.product(at.picked, d, false, weights.embed, d, false, c, stride, 0, some.length, vocab, d);
    const logits = memory.reals(c, some.length * stride);
    for (const [i, rollout] of some.entries()) visit(rollout, logits, i * stride);
  }
}

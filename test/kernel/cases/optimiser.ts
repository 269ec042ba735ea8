import { adamw, gradNorm } from '../../../src/policy/twin/optimiser.ts';
import * as kernels from '../../../src/policy/webgpu/kernels.ts';
import { bitsOf, poison, range, reals } from '../numbers.ts';
import { EXACT, FORWARD, GRADIENT, type KernelCase } from './case.ts';

const OPTIONS = { learningRate: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.1 };
const SLOT = 2;

/** The uniform of a step: options, corrections for step `t`, where the summary is kept, whether something is added to. */
const stepWords = (t: number, clip: number, options = OPTIONS, held = false): { uniform: number[] } => ({
  uniform: [
    ...bitsOf(options.learningRate, options.beta1, options.beta2, 1 - options.beta1),
    ...bitsOf(1 - options.beta2, options.epsilon, options.weightDecay, clip),
    ...bitsOf(1 - options.beta1 ** t, 1 - options.beta2 ** t),
    SLOT,
    Number(held),
  ],
});

/** n parameters, a multiple of 64. `held`: added to a gradient that stands. */
const sum = (slices: number, held: boolean): KernelCase => ({
  name: `grad_norm of ${slices} slices${held ? ', added to what is held' : ''}`,
  proves: ['grad_norm'],
  counts: [64, 640, 64 * 256],
  brief: [64, 640],
  async run(bench, n, rng) {
    const partials = reals(rng, n * slices);
    const before = held ? reals(rng, n) : poison(n);
    const gradient = held ? Float64Array.from(before) : new Float64Array(n);
    for (let i = 0; i < n * slices; i++) gradient[i % n] = gradient[i % n]! + partials[i]!;
    const slots = [stepWords(1, 1, OPTIONS, held), partials, before, poison(kernels.normThreads(n))];
    const out = await bench.run(kernels.gradNorm(n, slices), slots, {});
    const squares = [...out[3]!].reduce((total, square) => total + square, 0);
    return [
      { name: 'gradient', out: out[2]!, reference: gradient, bound: GRADIENT },
      { name: 'Σ squares', out: [squares], reference: [gradNorm(gradient) ** 2], bound: GRADIENT },
    ];
  },
});

/** n trained rows. */
const summary = (parameters: number, clipped: boolean, held: boolean): KernelCase => ({
  name: `step_summary of ${parameters} parameters, ${clipped ? '' : 'not '}clipped${held ? ', added to a loss' : ''}`,
  proves: ['step_summary'],
  counts: [0, 1, 63, 64, 65, 200],
  brief: [0, 65],
  async run(bench, n, rng) {
    const threads = kernels.normThreads(parameters);
    // Terms of one sign, as they are: no cancellation.
    const [squares, nll, shares] = [threads, n, n].map((count) => reals(rng, count).map(Math.abs));
    const norm = Math.sqrt(squares!.reduce((total, square) => total + square, 0));
    const before = held ? Float32Array.of(0.75, 9, 9, 0) : poison(4);
    const loss = range(n).reduce((total, i) => total + nll![i]! * shares![i]!, held ? 0.75 : 0);
    const clip = norm * (clipped ? 0.3 : 1.5);
    const out = await bench.run(
      kernels.stepSummary(parameters),
      [
        { uniform: [n, 0, 0, 0] },
        stepWords(3, clip, OPTIONS, held),
        squares!,
        nll!,
        shares!,
        before,
        poison(16),
      ],
      {},
    );
    const [made, ring] = [out[5]!, out[6]!];
    const kept = range(16).filter((i) => !Number.isNaN(ring[i]!));
    return [
      { name: 'loss', out: made.subarray(0, 1), reference: [loss], bound: FORWARD },
      { name: 'norm', out: made.subarray(1, 2), reference: [norm], bound: FORWARD },
      { name: 'scale', out: made.subarray(2, 3), reference: [clipped ? 0.3 : 1], bound: FORWARD },
      { name: 'the fourth', out: made.subarray(3, 4), reference: [0], bound: EXACT },
      { name: 'ring', out: ring.subarray(4 * SLOT, 4 * SLOT + 4), reference: made, bound: EXACT },
      { name: 'places in the ring', out: kept, reference: range(4).map((i) => 4 * SLOT + i), bound: EXACT },
    ];
  },
});

/** n parameters, a multiple of 64. `size` is that of the gradient; with a tiny one ε stands out. */
const update = (size: number, epsilon: number): KernelCase => ({
  name: `adamw of gradients of size ${size}, ε ${epsilon}`,
  proves: ['adamw'],
  counts: [64, 640, 64 * 101],
  brief: [64, 640],
  async run(bench, n, rng) {
    const t = 3;
    const options = { ...OPTIONS, epsilon };
    const gradient = reals(rng, n, size);
    const norm = gradNorm(gradient);
    const clip = 0.4 * norm;
    const [parameters, moment1] = [reals(rng, n), reals(rng, n, 0.1 * size)];
    const moment2 = reals(rng, n, 0.1 * size * size).map(Math.abs);
    const decays = Uint32Array.from({ length: n / 64 }, (_, i) => (i % 3 === 0 ? 1 : 0));
    const tensors = [...decays].map((decay, i) => ({
      name: String(i),
      shape: decay ? [8, 8] : [64],
      offset: i * 64,
      size: 64,
    }));
    const state = {
      parameters: Float64Array.from(parameters),
      gradient,
      moment1: Float64Array.from(moment1),
      moment2: Float64Array.from(moment2),
    };
    adamw(state, tensors, { ...options, clip }, t, norm);
    const scaled = Float32Array.of(7, norm, clip / norm, 7);
    const out = await bench.run(
      kernels.adamw(n),
      [stepWords(t, clip, options), gradient, scaled, decays, parameters, moment1, moment2],
      {},
    );
    return [
      { name: 'parameters', out: out[4]!, reference: state.parameters, bound: FORWARD },
      { name: 'first moments', out: out[5]!, reference: state.moment1, bound: FORWARD },
      { name: 'second moments', out: out[6]!, reference: state.moment2, bound: FORWARD },
    ];
  },
});

export const optimiserCases: readonly KernelCase[] = [
  ...[1, 3, 8].map((slices) => sum(slices, false)),
  sum(3, true),
  ...[64, 64 * 101].flatMap((parameters) => [
    summary(parameters, true, false),
    summary(parameters, false, true),
  ]),
  update(1, 1e-8),
  update(1e-3, 1e-3),
];

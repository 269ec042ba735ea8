import { swiglu, swigluBackward } from '../../../src/policy/twin/swiglu.ts';
import * as kernels from '../../../src/policy/webgpu/kernels.ts';
import { poison, reals } from '../numbers.ts';
import { BRIEF, COUNTS, FORWARD, GRADIENT, type KernelCase } from './case.ts';

const gated = (f: number): KernelCase => ({
  name: `swiglu and its gradient of ${f} units`,
  proves: ['swiglu', 'swiglu_backward'],
  counts: COUNTS,
  brief: BRIEF,
  async run(bench, n, rng) {
    const [before, dy] = [reals(rng, n * 2 * f, 2), reals(rng, n * f)];
    const dims = { uniform: [n, 0, 0, 0] };
    const forward = await bench.run(kernels.swiglu(f, 'n'), [dims, before, poison(n * f)], { n });
    const backward = await bench.run(kernels.swigluBackward(f, 'n'), [dims, dy, before], { n });
    const [y, dx] = [new Float64Array(n * f), new Float64Array(n * 2 * f)];
    swiglu(before, y, { n, f });
    swigluBackward(before, dy, dx, { n, f });
    return [
      { name: 'y', out: forward[2]!, reference: y, bound: FORWARD },
      { name: 'dx', out: backward[2]!, reference: dx, bound: GRADIENT },
    ];
  },
});

export const mlpCases: readonly KernelCase[] = [4, 20, 172].map(gated);

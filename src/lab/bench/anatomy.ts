import { invariant } from '../../base/errors.ts';
import type { LabDevice } from '../../gpu/device.ts';
import type { PolicyShape } from '../../policy/engine.ts';
import { createWebGpuEngine } from '../../policy/webgpu/engine.ts';
import { planMemory } from '../../policy/webgpu/memoryPlan.ts';
import { kernelRows, type Rates, REPEATS, type TimedDispatch, timeDispatch } from './kernels.ts';
import { sampleTurn, trainSteps } from './ours.ts';
import type { BenchPlan } from './plan.ts';
import { type BenchRow, plain } from './row.ts';
import { nameOf, STEP, syntheticBatch, turnLoad } from './student.ts';
import { type Trace, Tracer } from './tracer.ts';
import { seenPairs } from './work.ts';

const MIB = 2 ** 20;

/**
 * Takes a training step and a sampling step of the first student apart: dispatches and submits counted, device memory at
 * its peak, and every kernel by itself beside its floors. Yields after every measurement.
 */
export async function* benchAnatomy(
  device: LabDevice,
  rates: Rates,
  { students, turn, rounds }: BenchPlan,
): AsyncGenerator<null, BenchRow[]> {
  const student = students[0]!;
  const { shape, tokens } = student;
  const batch = syntheticBatch(student);
  const load = turnLoad(shape, turn);
  const tracer = new Tracer(device.gpu);
  const rows: BenchRow[] = [];
  try {
    const engine = await createWebGpuEngine(device, shape, { capacity: tokens });
    try {
      await trainSteps(engine, batch, 1);
      yield null;
      rows.push(...memoryRows(`training, ${nameOf(student)}`, tracer.peakBytes, shape, { capacity: tokens }));
      // Without its readback, which many steps share.
      const step = await tracer.trace(async () => engine.train(batch, STEP));
      await engine.stats();
      rows.push(...counted('a training step', step, 1));
      const sampler = engine.sampler(turn.rollouts);
      const whole = await tracer.trace(() => sampleTurn(sampler, load));
      rows.push(...counted('a sampling step, prompt included', whole, turn.limit));
      const options = { stop: -1, limit: 1, temperature: 1, seed: 1 };
      const token = await tracer.trace(() =>
        sampler.turn(
          load.prompts.map(() => []),
          options,
        ),
      );
      rows.push(
        ...memoryRows(`training and ${turn.rollouts} rollouts`, tracer.peakBytes, shape, {
          capacity: tokens,
          rollouts: turn.rollouts,
        }),
      );
      yield null;
      const times: TimedDispatch[] = [];
      for (const dispatch of step.dispatches) {
        times.push({ dispatch, milliseconds: await timeDispatch(device.gpu, dispatch, rounds) });
        yield null;
      }
      const trained = { shape, pairs: seenPairs(batch) };
      rows.push(...kernelRows('Kernels of a training step', times, trained, rates));
      // The last step of a turn: replayed as it was, it would have no rows left to go on with.
      const at = turn.length + turn.limit - 1;
      const alone = await sampler.profile(at, options, REPEATS);
      yield null;
      const sampled = alone.map(({ kernel, milliseconds }, i) => {
        const dispatch = token.dispatches[i];
        invariant(dispatch?.kernel === kernel, `dispatch ${i} of a sampling step is ${kernel}`);
        return { dispatch, milliseconds };
      });
      invariant(sampled.length === token.dispatches.length, 'a step has the dispatches that were seen');
      const drawn = { shape, pairs: turn.rollouts * (at + 1) };
      rows.push(...kernelRows('Kernels of a sampling step', sampled, drawn, rates));
    } finally {
      engine.destroy();
    }
    return rows;
  } finally {
    tracer.release();
  }
}

/** Bytes of all buffers that lived at once, beside what the plan says. */
function memoryRows(
  what: string,
  peak: number,
  shape: PolicyShape,
  demand: { capacity: number; rollouts?: number },
): BenchRow[] {
  const planned = planMemory(shape, demand).total;
  const group = 'Memory';
  return [
    plain(group, `peak, ${what}`, peak / MIB, 'MiB'),
    plain(group, `planned, ${what}`, planned / MIB, 'MiB'),
    plain(group, `peak over plan, ${what}`, (peak / planned - 1) * 100, '%'),
  ];
}

function counted(what: string, trace: Trace, steps: number): BenchRow[] {
  const group = 'Dispatches';
  return [
    plain(group, `dispatches of ${what}`, trace.dispatches.length / steps, 'dispatches'),
    plain(group, `submits of ${what}`, trace.submits / steps, 'submits'),
  ];
}

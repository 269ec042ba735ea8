import { LabError } from '../../base/errors.ts';
import { describeDiff } from '../../lab/config.ts';
import { planRun } from '../../lab/memory.ts';
import type { Method, RunSpec } from '../../methods/method.ts';
import type { RunRecord } from '../../store/model.ts';
import { specOf } from '../run/keeper.ts';
import { duration } from '../words.ts';

const secondsOf = (record: RunRecord): number | null => {
  const { summary } = record;
  return typeof summary === 'object' && summary !== null && 'seconds' in summary
    ? Number(summary.seconds)
    : null;
};

/** What is known about how long a configuration will take: how long the finished run nearest to it took here. */
export function estimate(method: Method, spec: RunSpec, runs: readonly RunRecord[]): string {
  const differing = (record: RunRecord) =>
    method.controls.filter(({ key }) => record.config[key] !== spec.config[key]).length +
    (record.arms.join() === spec.arms.join() ? 0 : 1);
  const finished = runs.filter((record) => record.status === 'done' && secondsOf(record) !== null);
  const nearest = finished.reduce<RunRecord | null>(
    (best, record) => (best === null || differing(record) < differing(best) ? record : best),
    null,
  );
  if (!nearest) return 'Not run on this machine yet: how long it takes shows once it runs.';
  const took = duration(secondsOf(nearest) ?? 0);
  if (differing(nearest) === 0) return `About ${took}, as this configuration took here before.`;
  return `The nearest run here took ${took}; since then: ${describeDiff(method, specOf(nearest), { ...spec, seed: nearest.seed })}.`;
}

/** What a run will take of the device's memory; nothing where the method does not know, or the configuration has errors. */
export async function memoryText(method: Method, spec: RunSpec, backend: 'webgpu' | 'cpu'): Promise<string> {
  try {
    return (await planRun(method, spec, backend))?.text ?? '';
  } catch (error) {
    return error instanceof LabError ? `The student can't be built: ${error}` : '';
  }
}

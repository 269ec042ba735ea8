import { Rng } from '../base/rng.ts';
import { bootstrapMean } from '../lab/stats.ts';
import type { Method } from '../methods/method.ts';
import type { SeedResult } from './runFolder.ts';

export interface Figure {
  mean: number;
  low: number;
  high: number;
  values: number[];
}

/** Metrics by arm over seeds: mean with a 95% bootstrap interval, and the values themselves in the order of the seeds. */
export function summarise(
  method: Method,
  results: readonly SeedResult[],
): Record<string, Record<string, Figure>> {
  const arms: Record<string, Record<string, Figure>> = {};
  for (const { id } of method.arms) {
    const rows = results.map((result) => result.summary.arms[id]).filter((row) => row !== undefined);
    if (rows.length === 0) continue;
    const figures: Record<string, Figure> = {};
    for (const metric of method.metrics) {
      const values = rows
        .map((row) => row[metric.id])
        .filter((value) => value !== undefined && Number.isFinite(value)) as number[];
      if (values.length === 0) continue;
      const { mean, low, high } = bootstrapMean(values, new Rng(`${id}/${metric.id}`));
      figures[metric.id] = { mean, low, high, values };
    }
    arms[id] = figures;
  }
  return arms;
}

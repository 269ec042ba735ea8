import { Rng } from '../base/rng.ts';
import { bootstrapMean } from '../lab/stats.ts';
import { wilson } from '../learn/rate.ts';
import type { Method } from '../methods/method.ts';
import type { SeedResult } from './runFolder.ts';

export interface Figure {
  mean: number;
  /** 95% interval; null where a single seed gives none. */
  low: number | null;
  high: number | null;
  values: number[];
}

/**
 * Metrics by arm over seeds: mean with a 95% bootstrap interval, and the values themselves in the order of the seeds. Of
 * one seed only the success has an interval, over its tasks (Wilson).
 */
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
      figures[metric.id] = { ...interval(metric.id, values, results, `${id}/${metric.id}`), values };
    }
    arms[id] = figures;
  }
  return arms;
}

function interval(
  metric: string,
  values: readonly number[],
  results: readonly SeedResult[],
  stream: string,
): Omit<Figure, 'values'> {
  const [alone, ...others] = values;
  const tasks = results[0]?.summary.taskSet.heldOut ?? 0;
  if (alone === undefined || others.length > 0) {
    const { mean, low, high } = bootstrapMean(values, new Rng(stream));
    return { mean, low, high };
  }
  if (metric !== 'success') return { mean: alone, low: null, high: null };
  const { mean, low, high } = wilson(Math.round(alone * tasks), tasks);
  return { mean, low, high };
}

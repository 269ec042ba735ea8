import { armStyle, type SeriesSpec } from '../../lab/chart.ts';
import type { Arm } from '../../methods/method.ts';
import type { Curve, Evaluation } from '../run/ledger.ts';

/** Loss by step, a line an arm. */
export function lossSeries(arms: readonly Arm[], curves: readonly Curve[]): SeriesSpec[] {
  return curves.flatMap((curve) => {
    const index = arms.findIndex((arm) => arm.id === curve.arm);
    const points = curve.steps.map((step, i): [number, number] => [step, curve.loss[i] ?? Number.NaN]);
    return index < 0
      ? []
      : [
          {
            id: curve.arm,
            label: arms[index]?.title ?? '',
            ...armStyle(index),
            marker: 'none' as const,
            points,
          },
        ];
  });
}

/**
 * A metric by step with its interval where it is a rate with one. An arm that is not trained was judged once, at step
 * 0; it does not change, so its line is drawn flat up to `last`.
 */
export function metricSeries(
  arms: readonly Arm[],
  evaluations: readonly Evaluation[],
  metric: string,
  last: number,
): SeriesSpec[] {
  return arms.flatMap((arm, index) => {
    const own = evaluations.filter((one) => one.arm === arm.id).sort((a, b) => a.step - b.step);
    const only = own[0];
    const shown = own.length === 1 && only?.step === 0 && last > 0 ? [only, { ...only, step: last }] : own;
    const value = (one: Evaluation) =>
      metric === 'success' ? one.success.mean : (one.metrics[metric] ?? Number.NaN);
    const points = shown.map((one): [number, number] => [one.step, value(one)]);
    if (points.length === 0) return [];
    const band = shown.map((one): [number, number, number] => [one.step, one.success.low, one.success.high]);
    return [
      { id: arm.id, label: arm.title, ...armStyle(index), points, ...(metric === 'success' ? { band } : {}) },
    ];
  });
}

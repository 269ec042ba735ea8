import { type ScaleLinear, scaleLinear } from 'd3-scale';
import type { AxisModel, AxisSpec } from './model.ts';

/** Least distance between ticks, pixels. */
const X_TICK = 80;
const Y_TICK = 36;

export type Scale = ScaleLinear<number, number>;

/** Label with its unit: "Loss (nats)". */
export function axisLabel({ label, unit }: AxisSpec): string {
  return unit ? `${label} (${unit})` : label;
}

/** A scale over all values; rates from 0 to 1, one value with room round it, nothing from 0 to 1. */
export function makeScale(
  values: readonly number[],
  range: [number, number],
  options: { nice: boolean; rate: boolean },
): Scale {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) [low, high] = [0, 1];
  if (options.rate) [low, high] = [Math.min(0, low), Math.max(1, high)];
  else if (low === high) [low, high] = [low - (Math.abs(low) / 2 || 1), high + (Math.abs(high) / 2 || 1)];
  const scale = scaleLinear([low, high], range);
  return options.nice && !options.rate ? scale.nice(tickCount(range, Y_TICK)) : scale;
}

export function axisModel(spec: AxisSpec, scale: Scale, direction: 'x' | 'y', whole: boolean): AxisModel {
  const range = scale.range() as [number, number];
  const most = tickCount(range, direction === 'x' ? X_TICK : Y_TICK);
  const [low, high] = scale.domain() as [number, number];
  // Never finer than whole numbers where the data are whole.
  const count = whole ? Math.max(1, Math.min(most, Math.floor(high - low))) : most;
  const format = scale.tickFormat(count);
  const ticks = scale.ticks(count).filter((value) => !whole || Number.isInteger(value));
  return {
    label: axisLabel(spec),
    ticks: ticks.map((value) => ({ at: round(scale(value)), label: format(value) })),
    domain: [low, high],
    range,
  };
}

/** Tenths of a pixel are finer than any screen. */
export function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

function tickCount([from, to]: [number, number], least: number): number {
  return Math.max(2, Math.floor(Math.abs(to - from) / least));
}

/** The same work by another library: its figure in the row's unit, and how much faster ours is (> 1 = ours is faster). */
export interface Against {
  value: number;
  ratio: number;
  /** How it was measured, where the figure alone does not say it. */
  note?: string;
}

/** One measured figure. */
export interface BenchRow {
  /** Rows of one group stand together in a table. */
  group: string;
  name: string;
  value: number;
  unit: string;
  /** The least (of a time) or the most (of a rate) that the device allows, in the same unit; `null` where none is known. */
  floor: number | null;
  /** How near we are to the floor (1 = at it). */
  share: number | null;
  /** The two floors of a time apart, milliseconds: operations over the matrix rate, bytes over the copy rate. */
  floors?: { arithmetic: number; bytes: number };
  /** Dispatches in one step that the figure is the sum of. */
  dispatches?: number;
  against: Record<string, Against>;
}

/** A figure without a floor. */
export function plain(group: string, name: string, value: number, unit: string): BenchRow {
  return { group, name, value, unit, floor: null, share: null, against: {} };
}

/** A rate has no floor here. */
export function rate(
  group: string,
  name: string,
  count: number,
  milliseconds: number,
  unit: string,
): BenchRow {
  return plain(group, name, count / (milliseconds / 1000), unit);
}

/** Times `work`, in milliseconds. */
export async function timed<T>(work: () => T | Promise<T>): Promise<{ value: T; milliseconds: number }> {
  const began = performance.now();
  const value = await work();
  return { value, milliseconds: performance.now() - began };
}

/** The middle of a list, of its two middles the mean; NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

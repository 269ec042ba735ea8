/** One measured figure. `floor` is the least possible in the same unit, `share` how near we are to it (1 = at it). */
export interface BenchRow {
  name: string;
  value: number;
  unit: string;
  floor: number | null;
  share: number | null;
}

/** A rate has no floor here. */
export function rate(name: string, count: number, milliseconds: number, unit: string): BenchRow {
  return { name, value: count / (milliseconds / 1000), unit, floor: null, share: null };
}

/** Times `work`, in milliseconds. */
export async function timed<T>(work: () => T | Promise<T>): Promise<{ value: T; milliseconds: number }> {
  const began = performance.now();
  const value = await work();
  return { value, milliseconds: performance.now() - began };
}

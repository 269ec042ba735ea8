import { median } from './row.ts';

/** Something to be timed: it does its work `count` times and waits for it. */
export type Contender = (count: number) => Promise<unknown>;

/** Milliseconds that one round of a contender should last. */
const ROUND = 300;

/**
 * Times contenders in turn, round after round, so that a machine that slows down or is busy for a while does so to all of
 * them. Each warms up first, which also tells how often it goes into a round. Yields after every measurement.
 * @returns the median milliseconds of each, one time its work.
 */
export async function* alternate(
  contenders: readonly Contender[],
  rounds: number,
): AsyncGenerator<null, number[]> {
  const counts: number[] = [];
  for (const contender of contenders) {
    // The first time compiles, the second tells.
    await contender(1);
    yield null;
    const began = performance.now();
    await contender(1);
    counts.push(Math.min(50, Math.max(1, Math.round(ROUND / (performance.now() - began)))));
    yield null;
  }
  const times: number[][] = contenders.map(() => []);
  for (let round = 0; round < rounds; round++)
    for (const [i, contender] of contenders.entries()) {
      const began = performance.now();
      await contender(counts[i]!);
      times[i]!.push((performance.now() - began) / counts[i]!);
      yield null;
    }
  return times.map(median);
}

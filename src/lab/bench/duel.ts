import { median } from './row.ts';

/** Something to be timed: it does its work `count` times and waits for it. */
export type Contender = (count: number) => Promise<unknown>;

/** Milliseconds that one round of a contender should last. */
const ROUND = 300;
/** Milliseconds of measuring after which a slow contender is not asked again, however many rounds the others do. */
const ENOUGH = 20_000;

/**
 * Times contenders in turn, round after round, so that a machine that slows down or is busy for a while does so to all of
 * them. Each does its work once to warm up (drivers and libraries compile then). Yields after every measurement.
 * @returns the median milliseconds of each, one time its work.
 */
export async function* alternate(
  contenders: readonly Contender[],
  rounds: number,
): AsyncGenerator<null, number[]> {
  for (const contender of contenders) {
    await contender(1);
    yield null;
  }
  const counts = contenders.map(() => 1);
  const spent = contenders.map(() => 0);
  const times: number[][] = contenders.map(() => []);
  for (let round = 0; round <= rounds; round++)
    for (const [i, contender] of contenders.entries()) {
      if (spent[i]! > ENOUGH) continue;
      const began = performance.now();
      await contender(counts[i]!);
      const lasted = performance.now() - began;
      spent[i]! += lasted;
      times[i]!.push(lasted / counts[i]!);
      // The first round tells how often the work goes into the later ones; where once fills one, it counts as a round.
      if (round === 0) {
        counts[i] = Math.min(50, Math.max(1, Math.round(ROUND / lasted)));
        if (counts[i]! > 1) times[i] = [];
      }
      yield null;
    }
  return times.map(median);
}

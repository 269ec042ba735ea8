import type { LabDevice } from '../../gpu/device.ts';
import { initialWeights } from '../../policy/initial.ts';
import { alternate, type Contender } from './duel.ts';
import { load, logitsAfter, openEngine, sampleTurn } from './ours.ts';
import type { Peer, Same, SamplingPeer } from './peers/peer.ts';
import type { BenchPlan } from './plan.ts';
import { type BenchRow, rate } from './row.ts';
import { turnLoad } from './student.ts';

/** Largest difference of a logit at which two libraries count as doing the same work. */
const SAME_LOGIT = 1e-3;

/**
 * Times a turn of sampling from the first student: ours, and in turn with it the peers', all rollouts in one call and one
 * rollout alone. Yields remarks (strings), and `null` after every measurement.
 */
export async function* benchSampling(
  device: LabDevice | null,
  { students, turn, rounds }: BenchPlan,
  peers: readonly Peer[],
): AsyncGenerator<string | null, BenchRow[]> {
  const { shape, tokens } = students[0]!;
  const loaded = turnLoad(shape, turn);
  const same: Same = { shape, parameters: initialWeights(shape, 1) };
  const engine = await openEngine(device, shape, Math.max(tokens, turn.length));
  const rivals: { peer: Peer; sampling: SamplingPeer }[] = [];
  try {
    load(engine, same);
    const logits = await logitsAfter(engine, loaded.prompts[0]!);
    for (const peer of peers) {
      if (!peer.sampling) continue;
      const opened = await openRival(peer.sampling(same, loaded), logits);
      if (typeof opened === 'string') yield `${peer.name}, sampling: ${opened}`;
      else rivals.push({ peer, sampling: opened });
      yield null;
    }
    const sampler = engine.sampler(turn.rollouts);
    const timing = alternate(
      [
        repeat(() => sampleTurn(sampler, loaded)),
        ...rivals.flatMap(({ sampling }) => [repeat(sampling.together), repeat(sampling.alone)]),
      ],
      rounds,
    );
    let measured = await timing.next();
    for (; !measured.done; measured = await timing.next()) yield null;
    sampler.destroy();
    const [ours = Number.NaN, ...theirs] = measured.value;
    const row = rate(
      'Sampling',
      `sampling, ${turn.rollouts} rollouts`,
      turn.rollouts * turn.limit,
      ours,
      'tokens/s',
    );
    for (const [i, { peer }] of rivals.entries())
      row.against[peer.name] = compare(row.value, turn, theirs[2 * i]!, theirs[2 * i + 1]!);
    return [row];
  } finally {
    for (const { sampling } of rivals) sampling.destroy();
    engine.destroy();
  }
}

/** The ratio is to the faster of a peer's two ways. */
function compare(ours: number, turn: BenchPlan['turn'], together: number, alone: number) {
  const ways = [
    { how: `${turn.rollouts} rollouts a call`, value: (turn.rollouts * turn.limit * 1000) / together },
    { how: 'one rollout at a time', value: (turn.limit * 1000) / alone },
  ];
  ways.sort((a, b) => b.value - a.value);
  const [best, other] = ways as [(typeof ways)[0], (typeof ways)[0]];
  return {
    value: best.value,
    ratio: ours / best.value,
    note: `${best.how}; ${other.how}: ${other.value.toFixed(0)} tokens/s (${(ours / other.value).toFixed(1)}×)`,
  };
}

const repeat =
  (once: () => Promise<unknown>): Contender =>
  async (count) => {
    for (let i = 0; i < count; i++) await once();
  };

async function openRival(opening: Promise<SamplingPeer>, ours: Float32Array): Promise<SamplingPeer | string> {
  try {
    const sampling = await opening;
    const theirs = await sampling.logits();
    const worst = theirs.reduce((most, z, i) => Math.max(most, Math.abs(z - ours[i]!)), 0);
    if (worst <= SAME_LOGIT) return sampling;
    sampling.destroy();
    return `left out, since a logit differs by ${worst}`;
  } catch (error) {
    return `left out, since it fails: ${error instanceof Error ? error.message : String(error)}`;
  }
}

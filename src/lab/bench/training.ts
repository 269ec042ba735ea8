import type { LabDevice } from '../../gpu/device.ts';
import type { PackedBatch } from '../../policy/engine.ts';
import { stepFlops } from '../../policy/flops.ts';
import { initialWeights } from '../../policy/initial.ts';
import { alternate, type Contender } from './duel.ts';
import type { Rates } from './kernels.ts';
import { load, openEngine, trainSteps } from './ours.ts';
import type { Peer, Same, TrainingPeer } from './peers/peer.ts';
import { type BenchRow, rate } from './row.ts';
import { nameOf, type Student, syntheticBatch } from './student.ts';

/** Largest difference of losses at which two libraries count as doing the same work. */
const SAME_LOSS = 1e-3;

/**
 * Times training steps of one student: ours, and in turn with them those of the peers that compute the same loss.
 * Yields remarks (strings), and `null` after every measurement.
 */
export async function* benchTraining(
  device: LabDevice | null,
  rates: Rates | null,
  student: Student,
  peers: readonly Peer[],
  rounds: number,
): AsyncGenerator<string | null, BenchRow[]> {
  const { shape, tokens } = student;
  const batch = syntheticBatch(student);
  const same: Same = { shape, parameters: initialWeights(shape, 1) };
  const engine = await openEngine(device, shape, tokens);
  const rivals: { peer: Peer; training: TrainingPeer }[] = [];
  try {
    load(engine, same);
    const loss = await trainSteps(engine, batch, 1);
    for (const peer of peers) {
      const opened = await openRival(peer, same, batch, loss);
      if (typeof opened === 'string') yield `${peer.name}, ${nameOf(student)}: ${opened}`;
      else if (opened) rivals.push({ peer, training: opened });
      yield null;
    }
    const contenders: Contender[] = [
      (count) => trainSteps(engine, batch, count),
      ...rivals.map(
        ({ training }): Contender =>
          (count) =>
            training.steps(count),
      ),
    ];
    const timing = alternate(contenders, rounds);
    let turn = await timing.next();
    for (; !turn.done; turn = await timing.next()) yield null;
    const [ours = Number.NaN, ...theirs] = turn.value;
    return rowsOf(student, batch, rates, ours, new Map(rivals.map(({ peer }, i) => [peer.name, theirs[i]!])));
  } finally {
    for (const { training } of rivals) training.destroy();
    engine.destroy();
  }
}

/** The peer's training, a reason why it does not count, or `null` where the library cannot train. */
async function openRival(
  peer: Peer,
  same: Same,
  batch: PackedBatch,
  loss: number,
): Promise<TrainingPeer | string | null> {
  if (!peer.training) return null;
  try {
    const training = await peer.training(same, batch);
    const theirs = await training.loss();
    if (Math.abs(theirs - loss) <= SAME_LOSS) return training;
    training.destroy();
    return `left out, since its loss is ${theirs} where ours is ${loss}`;
  } catch (error) {
    return `left out, since it fails: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function rowsOf(
  student: Student,
  batch: PackedBatch,
  rates: Rates | null,
  ours: number,
  theirs: ReadonlyMap<string, number>,
): BenchRow[] {
  const group = 'Training';
  const flops = stepFlops(student.shape, batch);
  const floor = rates ? (flops / rates.flops) * 1000 : null;
  const against = (of: (milliseconds: number) => number) =>
    Object.fromEntries(
      [...theirs].map(([name, milliseconds]) => [
        name,
        { value: of(milliseconds), ratio: milliseconds / ours },
      ]),
    );
  const perSecond = (milliseconds: number) => student.tokens / (milliseconds / 1000);
  return [
    {
      group,
      name: `training step, ${nameOf(student)}`,
      value: ours,
      unit: 'ms',
      floor,
      share: floor === null ? null : floor / ours,
      against: against((milliseconds) => milliseconds),
    },
    {
      ...rate(group, `training, ${nameOf(student)}`, student.tokens, ours, 'tokens/s'),
      against: against(perSecond),
    },
    {
      group,
      name: `arithmetic, ${nameOf(student)}`,
      value: flops / ours / 1e6,
      unit: 'GFLOP/s',
      floor: rates ? rates.flops / 1e9 : null,
      share: floor === null ? null : floor / ours,
      against: {},
    },
  ];
}

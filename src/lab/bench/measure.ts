import { LabDevice } from '../../gpu/device.ts';
import { measureCopyRate, measureMatrixRate } from '../../gpu/measure.ts';
import { benchAnatomy } from './anatomy.ts';
import type { BenchEvent } from './event.ts';
import type { Rates } from './kernels.ts';
import { loadPeer } from './peers/load.ts';
import type { LoadRuntime } from './peers/ortPeer.ts';
import type { Peer } from './peers/peer.ts';
import { type BenchPlan, partsOf } from './plan.ts';
import { type BenchRow, plain } from './row.ts';
import { benchSampling } from './sampling.ts';
import { nameOf } from './student.ts';
import { benchTraining } from './training.ts';

/**
 * Measures the engine on a device, or on the processor where that is `null`: its rates, every kernel of a step, memory,
 * training and sampling, and the same work by the libraries of the plan. A generator, so that who pulls it can show how
 * far it is, and stops it by returning; everything is given back then.
 */
export async function* measureEngine(
  opened: LabDevice | null,
  plan: BenchPlan,
  loadRuntime: LoadRuntime,
): AsyncGenerator<BenchEvent> {
  // The same device with an empty pipeline cache: who traces it must see every kernel being made.
  const device = opened && new LabDevice(opened.gpu, opened.report);
  const of = partsOf(plan);
  const progress = (what: string, done: number): BenchEvent => ({ type: 'progress', what, done, of });
  const peers: Peer[] = [];
  yield progress('the libraries', 0);
  for (const name of plan.against) {
    const peer = await loadPeer(name, device !== null, loadRuntime);
    if (typeof peer === 'string') yield { type: 'remark', text: peer };
    else {
      peers.push(peer);
      yield { type: 'version', name, version: peer.version };
    }
  }
  let rates: Rates | null = null;
  if (device) {
    yield progress("the device's rates", 0);
    rates = await measureRates(device);
    for (const row of rateRows(rates)) yield { type: 'row', row };
    yield* relay(benchAnatomy(device, rates, plan), progress('every kernel by itself', 1));
  }
  for (const [i, student] of plan.students.entries())
    yield* relay(
      benchTraining(device, rates, student, peers, plan.rounds),
      progress(`training, ${nameOf(student)}`, 2 + i),
    );
  yield* relay(benchSampling(device, plan, peers), progress('sampling', of - 1));
  yield progress('done', of);
}

/** Passes a part's remarks on, says where we are at each of its pauses, and gives its rows at its end. */
async function* relay(
  part: AsyncGenerator<string | null, BenchRow[]>,
  here: BenchEvent,
): AsyncGenerator<BenchEvent> {
  yield here;
  try {
    for (;;) {
      const { done, value } = await part.next();
      if (done) {
        for (const row of value) yield { type: 'row', row };
        return;
      }
      yield typeof value === 'string' ? { type: 'remark', text: value } : here;
    }
  } finally {
    await part.return([]);
  }
}

async function measureRates(device: LabDevice): Promise<Rates> {
  const clock = () => performance.now();
  return {
    flops: await measureMatrixRate(device, clock),
    bytes: await measureCopyRate(device, clock),
  };
}

const rateRows = ({ flops, bytes }: Rates): BenchRow[] => [
  plain('Device', 'matrix rate', flops / 1e9, 'GFLOP/s'),
  plain('Device', 'copy rate', bytes / 1e9, 'GB/s'),
];

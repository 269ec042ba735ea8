import * as Comlink from 'comlink';
import { measureHere } from '../src/lab/bench/here.ts';
import { PEERS, type PeerName } from '../src/lab/bench/peers/peer.ts';
import { PLANS, type PlanName } from '../src/lab/bench/plan.ts';
import { carry } from '../src/lab/outcome.ts';
import { StreamHost } from './host.ts';
import { loadRuntime } from './runtime.ts';

/** Worker `bench`: measures the engine on a device of its own. It starts when the reader asks for it. */
const streams = new StreamHost();

const api = {
  measure: (plan: PlanName, against: PeerName[]) =>
    carry(() => {
      const known = PEERS.filter((name) => against.includes(name));
      return streams.open(measureHere(navigator.gpu, { ...PLANS[plan], against: known }, loadRuntime));
    }),
  next: (id: number) => carry(() => streams.next(id)),
  close: (id: number) => carry(() => streams.close(id)),
};

export type BenchApi = typeof api;
Comlink.expose(api);

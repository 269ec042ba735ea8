import * as Comlink from 'comlink';
import { localServices } from '../src/lab/local.ts';
import { carry } from '../src/lab/outcome.ts';
import { methods } from '../src/methods/index.ts';
import type { Task } from '../src/task/model.ts';

/** Worker `verify`: the replay gate. The page runs several of them. */
const services = localServices(methods, {
  openPolicy: () => Promise.reject(new Error('policies live in the policy worker')),
  clock: () => performance.now(),
});

const api = {
  verify: (method: string, tasks: Task[]) => carry(() => services.verify(method, tasks)),
};

export type VerifyApi = typeof api;
Comlink.expose(api);

import { isObject } from '../../base/json.ts';
import { FileAccount, reject, TrajectoryBuilder } from '../builder.ts';
import type { ChatDialect } from '../chat.ts';
import { plainOutcome, readChatMessages } from '../chat.ts';
import { inside } from '../place.ts';
import { scoreOf } from '../values.ts';
import type { Entry, Format, Found } from './format.ts';
import { recordReader } from './format.ts';

const META: ReadonlySet<string> = new Set(['think', 'transfer_to_human_agents']);

const DIALECT: ChatDialect = {
  nameCall: (tool, args) => ({ tool, args, meta: META.has(tool) }),
  // No flag: a failed tool answers `Error: …`.
  outcome: plainOutcome,
};

/** Runs of tau-bench (sierra-research): `[{task_id, trial, reward, info, traj: [message]}]`. */
export const tauBench: Format = {
  id: 'tau-bench',
  title: 'tau-bench runs',
  detect: (records) => records.some((record) => isObject(record) && Array.isArray(record.traj)),
  open(path) {
    const account = new FileAccount(path);
    return recordReader(account, (entry) => readRun(entry, account));
  },
};

function* readRun({ value, place }: Entry, account: FileAccount): Generator<Found> {
  if (!isObject(value) || !Array.isArray(value.traj)) {
    yield reject(place, 'expected a run with a list `traj`');
    return;
  }
  const builder = new TrajectoryBuilder(account, {
    id: account.nameOf(`${value.task_id ?? '?'}.${value.trial ?? 0}`),
    source: tauBench.id,
    // The shop or airline is a JSON database that the benchmark made up.
    rank: 'synthetic',
    tools: [],
    reward: scoreOf(value.reward),
  });
  readChatMessages(builder, value.traj, inside(place, 'traj'), DIALECT);
  yield builder.finish();
}

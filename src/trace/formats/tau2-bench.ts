import type { Json, JsonObject } from '../../base/json.ts';
import { isObject } from '../../base/json.ts';
import { FileAccount, reject, TrajectoryBuilder } from '../builder.ts';
import type { ChatDialect } from '../chat.ts';
import { flaggedOutcome, plainOutcome, readChatMessage } from '../chat.ts';
import { readToolSpecs } from '../declare.ts';
import type { Place } from '../model.ts';
import { inside } from '../place.ts';
import { objectField, scoreOf } from '../values.ts';
import type { Entry, Format, Found } from './format.ts';
import { recordReader } from './format.ts';

const META: ReadonlySet<string> = new Set(['think', 'transfer_to_human_agents', 'done']);

const DIALECT: ChatDialect = {
  nameCall: (tool, args) => ({ tool, args, meta: META.has(tool) }),
  // The thin variant (toolorchestra) has no flag.
  outcome: (content, message) =>
    typeof message.error === 'boolean' ? flaggedOutcome(content, message.error) : plainOutcome(content),
};

/**
 * Simulations of tau2-bench (sierra-research): `{info, tasks, simulations: [{messages}]}`. The simulated user calls
 * tools of its own (`requestor: "user"`), on a device that the agent cannot reach: they are named `user/TOOL`, since
 * without a user the agent may hold a tool of the same name.
 */
export const tau2Bench: Format = {
  id: 'tau2-bench',
  title: 'tau2-bench simulations',
  detect: (records) => records.some((record) => isObject(record) && Array.isArray(record.simulations)),
  open(path) {
    const account = new FileAccount(path);
    return recordReader(account, (entry) => readSimulations(entry, account));
  },
};

function* readSimulations({ value, place }: Entry, account: FileAccount): Generator<Found> {
  if (!isObject(value) || !Array.isArray(value.simulations)) {
    yield reject(place, 'expected an object with a list `simulations`');
    return;
  }
  const environment = objectField(objectField(value, 'info'), 'environment_info');
  const declared = environment.tool_defs;
  const tools = readToolSpecs(isObject(declared) ? Object.values(declared) : declared);
  for (const [i, simulation] of value.simulations.entries()) {
    const at = inside(place, `simulations[${i}]`);
    if (!isObject(simulation) || !Array.isArray(simulation.messages)) {
      yield reject(at, 'expected a simulation with a list `messages`');
      continue;
    }
    const builder = new TrajectoryBuilder(account, {
      id: account.nameOf(`${simulation.task_id ?? i}.${simulation.trial ?? 0}`),
      source: tau2Bench.id,
      // The shop, the airline and the phone are objects in the benchmark's memory.
      rank: 'synthetic',
      tools,
      reward: scoreOf(objectField(simulation, 'reward_info').reward),
    });
    yield readMessages(builder, simulation, at);
  }
}

function readMessages(builder: TrajectoryBuilder, simulation: JsonObject, place: Place): Found {
  (simulation.messages as Json[]).forEach((message, i) => {
    const at = inside(place, `messages[${i}]`);
    // Results of parallel calls may come in one message.
    const parts =
      isObject(message) && Array.isArray(message.tool_messages) ? message.tool_messages : [message];
    for (const part of parts) readChatMessage(builder, part, at, DIALECT);
  });
  return builder.finish();
}

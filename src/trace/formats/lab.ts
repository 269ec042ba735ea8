import * as v from 'valibot';
import type { Json, JsonObject } from '../../base/json.ts';
import { isObject } from '../../base/json.ts';
import { reject } from '../builder.ts';
import { stringifyJson } from '../json.ts';
import type { Call, Trajectory, Turn } from '../model.ts';
import type { Entry, Format, Found } from './format.ts';

/** What every line of the lab's own format says it is. */
export const LAB_FORMAT = 'rollout-lab/trajectory';
export const LAB_VERSION = 1;

const json = v.custom<Json>((value) => value !== undefined);
const object = v.custom<JsonObject>(isObject, 'expected an object');

const messageSchema = v.object({
  kind: v.literal('message'),
  role: v.picklist(['system', 'user', 'agent']),
  text: v.string(),
});

const callSchema = v.object({
  kind: v.literal('call'),
  id: v.string(),
  tool: v.string(),
  args: object,
  result: v.exactOptional(json),
  error: v.nullable(v.string()),
  caller: v.picklist(['agent', 'user']),
  meta: v.boolean(),
  place: v.object({
    file: v.string(),
    line: v.exactOptional(v.number()),
    field: v.exactOptional(v.string()),
  }),
});

const toolSchema = v.object({
  name: v.string(),
  description: v.string(),
  inputSchema: object,
  outputSchema: v.exactOptional(object),
  effect: v.exactOptional(v.picklist(['read', 'write', 'irreversible'])),
});

const trajectorySchema = v.object({
  id: v.string(),
  source: v.string(),
  rank: v.picklist(['server', 'workspace', 'synthetic']),
  file: v.string(),
  turns: v.array(v.variant('kind', [messageSchema, callSchema])),
  tools: v.array(toolSchema),
  reward: v.nullable(v.number()),
});

/**
 * The lab's own traces: JSONL, one `Trajectory` (src/trace/model.ts) a line with `format` and `version` before its
 * fields. Lossless: `writeTrajectory` and this reader are inverse; a call without a recorded result has no `result`.
 */
export const lab: Format = {
  id: 'lab',
  title: 'Rollout Lab trajectories',
  detect: (records) => records.some((record) => isObject(record) && record.format === LAB_FORMAT),
  open: () => ({ push: readLine, end: () => [] }),
};

/** A trajectory as one line of the lab's format, without the line feed. */
export function writeTrajectory(trajectory: Trajectory): string {
  const record = { format: LAB_FORMAT, version: LAB_VERSION, ...trajectory };
  // An absent result is `undefined` and leaves no key; all else is JSON already.
  return stringifyJson(record as unknown as Json);
}

function* readLine({ value, place }: Entry): Generator<Found> {
  if (!isObject(value) || value.format !== LAB_FORMAT) {
    yield reject(place, `expected format “${LAB_FORMAT}”`, 'format');
    return;
  }
  if (value.version !== LAB_VERSION) {
    const reason = `version ${JSON.stringify(value.version)?.slice(0, 40)}; this lab reads version ${LAB_VERSION}`;
    yield reject(place, reason, 'version');
    return;
  }
  const checked = v.safeParse(trajectorySchema, value);
  if (!checked.success) {
    const [issue] = checked.issues;
    yield reject(place, issue.message, v.getDotPath(issue) ?? '');
    return;
  }
  const turns: Turn[] = checked.output.turns.map((turn) => (turn.kind === 'call' ? wholeCall(turn) : turn));
  yield { type: 'trajectory', trajectory: { ...checked.output, turns } };
}

function wholeCall(call: v.InferOutput<typeof callSchema>): Call {
  return { ...call, result: call.result };
}

import type { JsonObject } from '../../base/json.ts';
import { isObject } from '../../base/json.ts';
import type { Outcome } from '../builder.ts';
import { FileAccount, reject, TrajectoryBuilder } from '../builder.ts';
import { readToolSpecs } from '../declare.ts';
import { readMcpResult } from '../mcp.ts';
import type { ToolSpec } from '../model.ts';
import { inside } from '../place.ts';
import { listField, objectField, parseArguments, stringField } from '../values.ts';
import type { Entry, Format, Found } from './format.ts';
import { recordReader } from './format.ts';

/** Recorded traffic with one MCP server (mcp-recorder): `{metadata, interactions: [{request, response}]}`, JSON-RPC 2.0. */
export const mcpCassette: Format = {
  id: 'mcp-cassette',
  title: 'MCP cassettes',
  detect: (records) =>
    records.some(
      (record) =>
        isObject(record) &&
        listField(record, 'interactions').some(
          (one) => isObject(one) && stringField(objectField(one, 'request'), 'method'),
        ),
    ),
  open(path) {
    const account = new FileAccount(path);
    return recordReader(account, (entry) => readCassette(entry, account));
  },
};

function* readCassette({ value, place }: Entry, account: FileAccount): Generator<Found> {
  if (!isObject(value) || !Array.isArray(value.interactions)) {
    yield reject(place, 'expected a cassette with a list `interactions`');
    return;
  }
  const server = serverOf(value);
  const tools: ToolSpec[] = [];
  const builder = new TrajectoryBuilder(account, {
    id: account.nameOf(server ?? 'cassette'),
    source: mcpCassette.id,
    // A real server answered.
    rank: 'server',
    tools,
    reward: null,
  });
  value.interactions.forEach((interaction, i) => {
    if (!isObject(interaction)) return;
    const request = objectField(interaction, 'request');
    const response = objectField(interaction, 'response');
    if (request.method === 'tools/list')
      tools.push(...readToolSpecs(objectField(response, 'result').tools, server));
    if (request.method !== 'tools/call') return;
    const at = inside(place, `interactions[${i}]`);
    const params = objectField(request, 'params');
    const name = stringField(params, 'name');
    if (!name) {
      builder.skipCall(undefined, at, 'a tools/call without the name of a tool');
      return;
    }
    const tool = server ? `${server}/${name}` : name;
    // Cassette order pairs them: a request stands with its response.
    const id = `rpc-${i}`;
    builder.call({ id, tool, args: parseArguments(params.arguments), meta: false, place: at });
    const outcome = outcomeOf(response);
    if (outcome) builder.answer(id, outcome, at);
  });
  yield builder.finish();
}

/** The server's own name, from the recording or from its answer to `initialize`. */
function serverOf(cassette: JsonObject): string | undefined {
  const recorded = stringField(objectField(objectField(cassette, 'metadata'), 'server_info'), 'name');
  if (recorded) return recorded;
  for (const one of listField(cassette, 'interactions')) {
    if (!isObject(one)) continue;
    const info = objectField(objectField(objectField(one, 'response'), 'result'), 'serverInfo');
    const name = stringField(info, 'name');
    if (name) return name;
  }
  return undefined;
}

/** Null where no response was recorded. A JSON-RPC error is a failed call without a result. */
function outcomeOf(response: JsonObject): Outcome | null {
  if (isObject(response.error)) {
    return {
      result: undefined,
      error: stringField(response.error, 'message') ?? JSON.stringify(response.error),
    };
  }
  if (!isObject(response.result)) return null;
  return readMcpResult(response.result);
}

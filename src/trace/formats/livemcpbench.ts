import { LabError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { isObject } from '../../base/json.ts';
import type { Outcome } from '../builder.ts';
import { FileAccount, reject, TrajectoryBuilder } from '../builder.ts';
import type { ChatDialect, NamedCall } from '../chat.ts';
import { readChatMessages } from '../chat.ts';
import { judgeResult, readMcpResult } from '../mcp.ts';
import { inside } from '../place.ts';
import { readPythonString } from '../python.ts';
import { parseArguments, parseText, stringField } from '../values.ts';
import type { Entry, Format, Found } from './format.ts';
import { recordReader } from './format.ts';

/** `route` looks for tools. */
const META: ReadonlySet<string> = new Set(['route']);

const DIALECT: ChatDialect = { nameCall, outcome: (content) => unwrapResult(content) };

/**
 * Runs of LiveMCPBench (icip-cas): chat messages whose one real tool, `execute-tool`, stands for the 527 tools of 70 MCP
 * servers. Its calls are unwrapped to `server/tool` with the inner arguments, its results from both their wrappings.
 */
export const liveMcpBench: Format = {
  id: 'livemcpbench',
  title: 'LiveMCPBench runs',
  detect: (records) =>
    records.some(
      (record) =>
        isObject(record) &&
        Array.isArray(record.messages) &&
        (Object.hasOwn(record, 'task_success') || Object.hasOwn(record, 'Question')),
    ),
  open(path) {
    const account = new FileAccount(path);
    return recordReader(account, (entry) => readTask(entry, account));
  },
};

function* readTask({ value, place }: Entry, account: FileAccount): Generator<Found> {
  if (!isObject(value) || !Array.isArray(value.messages)) {
    yield reject(place, 'expected a task with a list `messages`');
    return;
  }
  const success = stringField(value, 'task_success');
  const builder = new TrajectoryBuilder(account, {
    id: account.nameOf(stringField(value, 'task_id') ?? place.field ?? ''),
    source: liveMcpBench.id,
    // Real MCP servers on real data answered.
    rank: 'server',
    tools: [],
    reward: success === undefined ? null : Number(success === 'success'),
  });
  readChatMessages(builder, value.messages, inside(place, 'messages'), DIALECT);
  yield builder.finish();
}

/** `execute-tool {server_name, tool_name, params}` is a call of `server/tool` with `params`. */
function nameCall(name: string, args: JsonObject): NamedCall {
  if (name !== 'execute-tool') return { tool: name, args, meta: META.has(name) };
  const server = stringField(args, 'server_name');
  const tool = stringField(args, 'tool_name');
  if (!server || !tool) throw new LabError('expected server_name and tool_name');
  return { tool: `${server}/${tool}`, args: parseArguments(args.params), meta: false };
}

const TEXT_PART = "TextContent(type='text', text=";

/**
 * The value inside `meta=None content=[TextContent(type='text', text='…')] isError=False` (Python's repr of an MCP
 * result), whose text is mostly the JSON of a second MCP result, whose text may be JSON again. The inner flag counts: the
 * outer one is nearly always False; and servers that report success with an error text are found by that text. Results
 * that were cut off upstream give the text that is there.
 */
export function unwrapResult(content: string): Outcome {
  if (!content.startsWith('meta=') || !content.includes(TEXT_PART))
    return judgeResult(parseText(content), false);
  const texts: string[] = [];
  let end = 0;
  for (let at = content.indexOf(TEXT_PART); at >= 0; at = content.indexOf(TEXT_PART, end)) {
    const literal = readPythonString(content, at + TEXT_PART.length);
    texts.push(literal.value);
    end = literal.end;
  }
  const failed = /\bisError=True\b/.test(content.slice(end));
  return unwrapInner(texts.join('\n'), failed);
}

function unwrapInner(text: string, failed: boolean): Outcome {
  const inner = parseText(text);
  if (isObject(inner) && Array.isArray(inner.content)) {
    return readMcpResult(failed ? { ...inner, isError: true } : inner);
  }
  const cut = /^\s*\{"_meta":.{0,200}?"content":\[\{"type":"text","text":"/s.exec(text);
  if (!cut) return judgeResult(inner, failed);
  return judgeResult(parseText(openJsonString(text.slice(cut[0].length))), failed);
}

/** The text of a JSON string whose end is missing; escapes that were cut are dropped. */
function openJsonString(text: string): string {
  const whole = text.replace(/\\(?:u[\da-fA-F]{0,3})?$/, '');
  const value = parseText(`"${whole}"`);
  return typeof value === 'string' ? value : text;
}

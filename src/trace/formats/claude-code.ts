import type { JsonObject } from '../../base/json.ts';
import { isObject } from '../../base/json.ts';
import { FileAccount, reject, TrajectoryBuilder } from '../builder.ts';
import type { ChatDialect } from '../chat.ts';
import { flaggedOutcome, readChatMessage } from '../chat.ts';
import type { Place } from '../model.ts';
import { listField, stringField } from '../values.ts';
import type { Entry, Format, Found, Reader } from './format.ts';

/** Planning, talking with the user, handing over to sub-agents, looking for tools. */
const META: ReadonlySet<string> = new Set(
  `TodoWrite TodoRead TaskCreate TaskUpdate TaskGet TaskList Task Agent Skill SlashCommand ToolSearch AskUserQuestion
   EnterPlanMode ExitPlanMode`.split(/\s+/),
);

const DIALECT: ChatDialect = {
  nameCall(name, args) {
    const tool = mcpName(name) ?? name;
    return { tool, args, meta: META.has(tool) };
  },
  outcome: (content, message) => flaggedOutcome(content, message.is_error),
};

/** `mcp__server__tool` is `server/tool`; undefined for the built-in tools. */
function mcpName(name: string): string | undefined {
  const parts = /^mcp__(.+?)__(.+)$/.exec(name);
  return parts ? `${parts[1]}/${parts[2]}` : undefined;
}

const TYPES: ReadonlySet<string> = new Set(
  'user assistant system summary progress file-history-snapshot queue-operation attachment'.split(' '),
);

/**
 * Sessions of Claude Code (`~/.claude/projects/…/*.jsonl`): a record a line, one content block a record, so that
 * parallel calls stand before their results. The session is one trajectory and each sub-agent another: sub-agents
 * have files of their own, or (older versions) stand between the session's lines as side chains. The copies of a
 * sub-agent's messages in `progress` records are left out, since its own file holds them.
 */
export const claudeCode: Format = {
  id: 'claude-code',
  title: 'Claude Code sessions',
  detect: (records) => records.some((record) => isObject(record) && isSessionRecord(record)),
  open: (path) => new SessionReader(path),
};

function isSessionRecord(record: JsonObject): boolean {
  const type = stringField(record, 'type') ?? '';
  if (!TYPES.has(type)) return false;
  const speaks = type === 'user' || type === 'assistant';
  return speaks
    ? isObject(record.message) && 'sessionId' in record
    : 'sessionId' in record || 'leafUuid' in record || 'snapshot' in record;
}

class SessionReader implements Reader {
  readonly #account: FileAccount;
  /** By session, and by sub-agent within it. */
  readonly #threads = new Map<string, TrajectoryBuilder>();
  /** Thread of every record of a side chain, by uuid. */
  readonly #sideThreads = new Map<string, string>();
  readonly #seen = new Set<string>();

  constructor(path: string) {
    this.#account = new FileAccount(path);
  }

  *push({ value, place }: Entry): Generator<Found> {
    if (!isObject(value)) {
      yield reject(place, 'expected a session record, an object');
      return;
    }
    this.#account.count('records');
    if (this.#isRepeat(value, place)) return;
    const key = this.#threadOf(value);
    if (value.type !== 'user' && value.type !== 'assistant') return;
    if (!isObject(value.message) || typeof value.message.role !== 'string') {
      yield reject(place, `expected a message with a role in this ${value.type} record`, 'message');
      return;
    }
    const injected = value.isMeta === true || value.isCompactSummary === true;
    const message = injected ? { ...value.message, role: 'system' } : value.message;
    const builder = this.#owner(value.message) ?? this.#thread(key, value);
    readChatMessage(builder, message, { ...place, field: 'message' }, DIALECT);
  }

  *end(): Generator<Found> {
    for (const builder of this.#threads.values()) yield builder.finish();
    yield* this.#account.problems();
  }

  /** A resumed session repeats records. */
  #isRepeat(record: JsonObject, place: Place): boolean {
    const uuid = stringField(record, 'uuid');
    if (uuid === undefined) return false;
    if (!this.#seen.has(uuid)) {
      this.#seen.add(uuid);
      return false;
    }
    this.#account.report('records', place, 'a record with the uuid of an earlier one', 'skipped');
    return true;
  }

  #threadOf(record: JsonObject): string {
    const session = stringField(record, 'sessionId') ?? '';
    if (record.isSidechain !== true) return session;
    const uuid = stringField(record, 'uuid') ?? '';
    const parent = stringField(record, 'parentUuid') ?? '';
    const agent = stringField(record, 'agentId');
    const key = agent ? `${session}/${agent}` : (this.#sideThreads.get(parent) ?? `${session}/${uuid}`);
    this.#sideThreads.set(uuid, key);
    return key;
  }

  /** The thread that waits for a result in this message, whichever session its line names. */
  #owner(message: JsonObject): TrajectoryBuilder | undefined {
    for (const block of listField(message, 'content')) {
      const id = isObject(block) ? stringField(block, 'tool_use_id') : undefined;
      if (id === undefined) continue;
      for (const builder of this.#threads.values()) if (builder.waitsFor(id)) return builder;
    }
    return undefined;
  }

  #thread(key: string, record: JsonObject): TrajectoryBuilder {
    const known = this.#threads.get(key);
    if (known) return known;
    const side = record.isSidechain === true;
    const builder = new TrajectoryBuilder(this.#account, {
      id: this.#account.nameOf(side ? (stringField(record, 'agentId') ?? 'side') : 'main'),
      source: claudeCode.id,
      // A real machine, but one person's workspace, which nobody else can call.
      rank: 'workspace',
      tools: [],
      reward: null,
    });
    this.#threads.set(key, builder);
    return builder;
  }
}

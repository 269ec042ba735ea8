import type { Json, JsonObject } from '../../base/json.ts';
import { isObject } from '../../base/json.ts';
import { FileAccount, reject, TrajectoryBuilder } from '../builder.ts';
import type { ChatDialect } from '../chat.ts';
import { isChatMessage, plainOutcome, readChatMessage, readChatMessages } from '../chat.ts';
import { readToolSpecs } from '../declare.ts';
import type { Place } from '../model.ts';
import { inside } from '../place.ts';
import { scoreOf } from '../values.ts';
import type { Entry, Format, Found, Reader } from './format.ts';

const META: ReadonlySet<string> = new Set([
  'think',
  'transfer_to_human_agents',
  'submit',
  'finish',
  'final_answer',
]);

const DIALECT: ChatDialect = {
  nameCall: (tool, args) => ({ tool, args, meta: META.has(tool) }),
  outcome: plainOutcome,
};

/**
 * Chat messages as OpenAI's API has them (and Anthropic's, whose blocks are read too): a record is `{messages: […],
 * tools?}` or a bare list of messages, and records that are single messages make one conversation.
 */
export const openAiChat: Format = {
  id: 'openai-chat',
  title: 'chat messages (OpenAI)',
  // Half of the records: logs of other kinds hold conversations here and there.
  detect: (records) => records.length > 0 && 2 * records.filter(isConversational).length >= records.length,
  open: (path) => new ChatReader(path),
};

function isConversational(record: Json): boolean {
  return conversationOf(record) !== null || isChatMessage(record);
}

/** The messages of a record that holds a conversation, else null. */
function conversationOf(record: Json): { messages: Json[]; field: string } | null {
  const listed = Array.isArray(record) ? record : isObject(record) ? record.messages : null;
  if (!Array.isArray(listed) || !listed.some(isChatMessage)) return null;
  return { messages: listed, field: Array.isArray(record) ? '' : 'messages' };
}

class ChatReader implements Reader {
  readonly #account: FileAccount;
  /** Gathers records that are single messages. */
  #single: TrajectoryBuilder | null = null;

  constructor(path: string) {
    this.#account = new FileAccount(path);
  }

  *push({ value, place }: Entry): Generator<Found> {
    const conversation = conversationOf(value);
    if (conversation) {
      const builder = this.#start(isObject(value) ? value : {}, place);
      readChatMessages(builder, conversation.messages, inside(place, conversation.field), DIALECT);
      yield builder.finish();
    } else if (isChatMessage(value)) {
      this.#single ??= this.#start({}, place);
      readChatMessage(this.#single, value, place, DIALECT);
    } else {
      yield reject(place, 'expected a chat message, or an object with a list `messages`');
    }
  }

  *end(): Generator<Found> {
    if (this.#single) yield this.#single.finish();
    yield* this.#account.problems();
  }

  #start(record: JsonObject, place: Place): TrajectoryBuilder {
    const id = record.id ?? record.task_id;
    return new TrajectoryBuilder(this.#account, {
      id: this.#account.nameOf(
        typeof id === 'string' || typeof id === 'number' ? id : (place.line ?? place.field ?? 1),
      ),
      source: openAiChat.id,
      // Nothing in such a file vouches for a real server, so it ranks lowest.
      rank: 'synthetic',
      tools: readToolSpecs(record.tools ?? record.functions),
      reward: scoreOf(record.reward ?? record.score),
    });
  }
}

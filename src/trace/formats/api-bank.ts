import { isObject } from '../../base/json.ts';
import { FileAccount, reject, TrajectoryBuilder } from '../builder.ts';
import { parseArguments, stringField } from '../values.ts';
import type { Entry, Format, Found, Reader } from './format.ts';

/** `ToolSearcher` looks for tools. */
const META: ReadonlySet<string> = new Set(['ToolSearcher']);

/** Dialogues of API-Bank (AlibabaResearch): a file each, a turn a line, calls with their results on the same line. */
export const apiBank: Format = {
  id: 'api-bank',
  title: 'API-Bank dialogues',
  detect: (records) => records.some((record) => isObject(record) && isTurn(record.role)),
  open: (path) => new DialogueReader(path),
};

function isTurn(role: unknown): boolean {
  return role === 'User' || role === 'AI' || role === 'API';
}

class DialogueReader implements Reader {
  readonly #account: FileAccount;
  readonly #builder: TrajectoryBuilder;

  constructor(path: string) {
    this.#account = new FileAccount(path);
    this.#builder = new TrajectoryBuilder(this.#account, {
      id: this.#account.nameOf(1),
      source: apiBank.id,
      // The APIs work on small databases written for the benchmark.
      rank: 'synthetic',
      tools: [],
      reward: null,
    });
  }

  *push({ value, place }: Entry): Generator<Found> {
    if (!isObject(value) || !isTurn(value.role)) {
      yield reject(place, 'expected a turn with the role User, AI or API');
    } else if (value.role !== 'API') {
      this.#builder.say(value.role === 'User' ? 'user' : 'agent', stringField(value, 'text') ?? '');
    } else {
      const tool = stringField(value, 'api_name');
      if (!tool) {
        yield reject(place, 'expected an api_name');
        return;
      }
      const args = parseArguments(value.param_dict);
      this.#builder.call({ id: undefined, tool, args, meta: META.has(tool), place });
      const { result } = value;
      if (isObject(result)) {
        const failed = result.exception ?? null;
        const error = failed === null ? null : typeof failed === 'string' ? failed : JSON.stringify(failed);
        this.#builder.answer(undefined, { result: result.output, error }, place);
      }
    }
  }

  *end(): Generator<Found> {
    yield this.#builder.finish();
    yield* this.#account.problems();
  }
}

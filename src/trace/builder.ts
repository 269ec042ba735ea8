import type { Json, JsonObject } from '../base/json.ts';
import type { Found } from './formats/format.ts';
import type { Call, Message, Place, Trajectory } from './model.ts';
import { describePlace, inside } from './place.ts';

/** What came back from a call. */
export interface Outcome {
  result: Json | undefined;
  error: string | null;
}

export interface CallRequest {
  /** The source's own id; absent where the format has none, then results are matched by order. */
  id: string | undefined;
  tool: string;
  args: JsonObject;
  meta: boolean;
  caller?: Call['caller'];
  place: Place;
}

type Counted = 'calls' | 'results' | 'messages' | 'records';

interface Problem {
  place: Place;
  what: string;
  /** Of what the count speaks. */
  of: Counted;
  verb: string;
  count: number;
}

/**
 * What the trajectories of one file share: their names, and the account of what did not fit. Problems of one kind are
 * told once, at the end of the file, with the first place and how many of how many.
 */
export class FileAccount {
  readonly path: string;
  readonly #stem: string;
  readonly #taken = new Set<string>();
  readonly #problems = new Map<string, Problem>();
  readonly #totals: Record<Counted, number> = { calls: 0, results: 0, messages: 0, records: 0 };

  constructor(path: string) {
    this.path = path;
    const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
    this.#stem = name.replace(/\.(?:jsonl?|ndjson)$/i, '');
  }

  /** A name for a trajectory: `stem#local`, with a suffix where the file has that one already. */
  nameOf(local: string | number): string {
    const base = `${this.#stem}#${local}`;
    let name = base;
    for (let copy = 2; this.#taken.has(name); copy++) name = `${base}.${copy}`;
    this.#taken.add(name);
    return name;
  }

  count(of: Counted): void {
    this.#totals[of]++;
  }

  /** @param verb what became of it: `skipped`, `left out` … */
  report(of: Counted, place: Place, what: string, verb: string): void {
    // Grouped without what is quoted: ids differ from one to the next.
    const key = `${of} ${verb} ${what.replace(/“.*”/, '')}`;
    const known = this.#problems.get(key);
    if (known) known.count++;
    else this.#problems.set(key, { place, what, of, verb, count: 1 });
  }

  /** A rejection for each kind of problem, as `line 214: a result for an unknown call id “x”; 1 of 635 results left out`. */
  *problems(): Generator<Found> {
    for (const { place, what, of, verb, count } of this.#problems.values()) {
      yield reject(place, `${what}; ${count} of ${this.#totals[of]} ${of} ${verb}`);
    }
  }
}

/** Puts a trajectory together: gives calls unique ids, joins results to calls, and accounts for what does not fit. */
export class TrajectoryBuilder {
  readonly #account: FileAccount;
  readonly #trajectory: Trajectory;
  readonly #taken = new Set<string>();
  /** Calls still without a result, by the source's id, oldest first. */
  readonly #open = new Map<string, Call[]>();
  /** Source ids that were seen at all, also of calls that were skipped. */
  readonly #known = new Set<string>();
  readonly #skipped = new Set<string>();
  #calls = 0;

  constructor(account: FileAccount, head: Omit<Trajectory, 'turns' | 'file'>) {
    this.#account = account;
    this.#trajectory = { ...head, file: account.path, turns: [] };
  }

  /** Counts a message of the source, whatever it turns out to hold. */
  beginMessage(): void {
    this.#account.count('messages');
  }

  /** Adds something said; empty text is no turn. */
  say(role: Message['role'], text: string): void {
    if (text !== '') this.#trajectory.turns.push({ kind: 'message', role, text });
  }

  /** Adds a call. A repeated id is suffixed (`x`, `x#2`) and reported. */
  call(request: CallRequest): Call {
    this.#calls++;
    this.#account.count('calls');
    const source = request.id ?? '';
    if (source !== '' && this.#known.has(source)) {
      this.#account.report(
        'calls',
        request.place,
        `the call id ${quote(source)} is not unique`,
        'given a suffix',
      );
    }
    const call: Call = {
      kind: 'call',
      id: this.#unique(source || `call-${this.#calls}`),
      tool: request.tool,
      args: request.args,
      result: undefined,
      error: null,
      caller: request.caller ?? 'agent',
      meta: request.meta,
      place: request.place,
    };
    this.#known.add(source);
    const waiting = this.#open.get(source);
    if (waiting) waiting.push(call);
    else this.#open.set(source, [call]);
    this.#trajectory.turns.push(call);
    return call;
  }

  /** Leaves out a message that cannot be read. */
  skipMessage(place: Place, why: string): void {
    this.#account.report('messages', place, why, 'skipped');
  }

  /** Leaves out a call that cannot be read, and later its result without a further word. */
  skipCall(id: string | undefined, place: Place, why: string): void {
    this.#account.count('calls');
    if (id !== undefined) this.#skipped.add(id);
    this.#account.report('calls', place, why, 'skipped');
  }

  /**
   * Gives a call its result. Without an id the oldest call without an id waits for it; failing that, the oldest of all.
   * A result without a call, or a second one, is reported and left out.
   */
  answer(id: string | undefined, outcome: Outcome, place: Place): void {
    this.#account.count('results');
    const call = this.#waiting(id);
    if (call) {
      call.result = outcome.result;
      call.error = outcome.error;
    } else if (id === undefined) {
      this.#account.report('results', place, 'a result where no call waits for one', 'left out');
    } else if (this.#known.has(id)) {
      this.#account.report('results', place, `a second result for the call ${quote(id)}`, 'left out');
    } else if (!this.#skipped.has(id)) {
      this.#account.report('results', place, `a result for an unknown call id ${quote(id)}`, 'left out');
    }
  }

  /** True where a call with this source id still waits for its result. */
  waitsFor(id: string): boolean {
    return this.#open.has(id);
  }

  finish(): Found {
    return { type: 'trajectory', trajectory: this.#trajectory };
  }

  #waiting(id: string | undefined): Call | undefined {
    const key = id ?? (this.#open.has('') ? '' : this.#open.keys().next().value);
    if (key === undefined) return undefined;
    const queue = this.#open.get(key);
    const call = queue?.shift();
    if (queue?.length === 0) this.#open.delete(key);
    return call;
  }

  #unique(id: string): string {
    let name = id;
    for (let copy = 2; this.#taken.has(name); copy++) name = `${id}#${copy}`;
    this.#taken.add(name);
    return name;
  }
}

function quote(text: string): string {
  return `“${text.length > 80 ? `${text.slice(0, 80)}…` : text}”`;
}

/** A rejection of one record, or of a field inside it. */
export function reject(place: Place, reason: string, field = ''): Found {
  return {
    type: 'rejected',
    rejection: { path: place.file, where: describePlace(inside(place, field)), reason },
  };
}

import { hash53 } from '../../base/hash.ts';
import { isObject, type Json } from '../../base/json.ts';
import type { Call, Effect, ToolSpec } from '../../trace/model.ts';
import { fieldOf, nounsOf, singular, wordsOf } from './fields.ts';
import { MOST_ENUMERATED } from './options.ts';
import { stepText } from './path.ts';

/** One argument of one tool (nested ones by pattern), and what stands in it across the corpus. */
export interface Slot {
  id: number;
  /** Stands for the slot in keys of counts. */
  salt: number;
  tool: Tool;
  /** Pattern of its path: `ticket`, `items[*].sku`. */
  path: string;
  /** Calls that set it. */
  calls: number;
  /** Trajectories that set it to a value that could be evidence, and the last of them. */
  trajectories: number;
  last: number;
  /** Later calls of a pair that set it to a value that the earlier call did not have among its arguments. */
  fresh: number;
  /** Those of them whose value the earlier result holds. */
  traced: number;
  /** A tool declaration lists its values. */
  declared: boolean;
  /** Values with the number of calls, while they are few and short; `null` once they are not. */
  values: Map<string, SlotValue> | null;
}

/** A candidate for an enumerated value: its number in the slot, and the calls that set it. */
export interface SlotValue {
  number: number;
  calls: number;
}

/** Fine nodes by what is set, an argument at a time in the order of the call. */
interface Branch {
  next: Map<number, Branch>;
  node: number;
}

/** A tool with one set of arguments and candidate values; what is enumerated is known at the end. */
export interface FineNode {
  tool: Tool;
  /** Slots that are set, each with its candidate value. */
  entries: { slot: Slot; value: string | null; always: boolean }[];
  effect: Effect;
  calls: number;
  errors: number;
  pairs: number;
  sources: Map<string, number>;
}

export interface Tool {
  /** Canonical name; those of the simulated user start with `user:`. */
  name: string;
  /** Stands for the tool in keys of counts; made of its name, so that it does not depend on the order of trajectories. */
  salt: number;
  /** All words of its name, and those that say what it works on; singular. */
  words: string[];
  nouns: string[];
  slots: Map<string, Slot>;
  /** Slots of top-level arguments by name. */
  top: Map<string, Slot>;
  root: Branch;
  /** Successful calls with a result. */
  returned: number;
  /** Smallest and largest digest of arguments and of results: unequal ones show that either varies. */
  args: [number, number];
  results: [number, number];
}

/** Room for the candidate values of a slot in a step: 0 none, 1 true, 2 false, then the values. */
const STEPS = MOST_ENUMERATED + 3;
/** Longest value of an enumerated argument. */
const LONGEST_ENUMERATED = 32;
const STRENGTH: Record<Effect, number> = { read: 0, write: 1, irreversible: 2 };

/** The stronger of two effects. */
export function strongerEffect(a: Effect, b: Effect): Effect {
  return STRENGTH[a] >= STRENGTH[b] ? a : b;
}

/** Names of the top-level arguments for which a declaration lists the values. */
function declaredEnums(spec: ToolSpec): Set<string> {
  const names = new Set<string>();
  const properties = spec.inputSchema?.properties;
  if (!isObject(properties)) return names;
  for (const name of Object.keys(properties)) {
    const schema = properties[name];
    if (isObject(schema) && (Array.isArray(schema.enum) || 'const' in schema)) names.add(name);
  }
  return names;
}

const NONE: ReadonlySet<string> = new Set();

/** All tools, slots and fine nodes of a corpus, numbered in order of appearance. */
export class ToolTable {
  readonly tools = new Map<string, Tool>();
  readonly slots: Slot[] = [];
  readonly nodes: FineNode[] = [];
  readonly #maxEnumerated: number;
  readonly #enums = new WeakMap<ToolSpec, ReadonlySet<string>>();

  constructor(maxEnumerated: number) {
    this.#maxEnumerated = maxEnumerated;
  }

  tool(call: Call): Tool {
    const name = call.caller === 'user' ? `user:${call.tool}` : call.tool;
    let tool = this.tools.get(name);
    if (!tool) {
      const none = (): [number, number] => [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
      tool = {
        name,
        salt: hash53(name) | 0,
        words: wordsOf(name).map(singular),
        nouns: nounsOf(name),
        slots: new Map(),
        top: new Map(),
        root: { next: new Map(), node: -1 },
        returned: 0,
        args: none(),
        results: none(),
      };
      this.tools.set(name, tool);
    }
    return tool;
  }

  slot(tool: Tool, path: string): Slot {
    let slot = tool.slots.get(path);
    if (!slot) {
      slot = {
        id: this.slots.length,
        salt: hash53(path, tool.salt) | 0,
        tool,
        path,
        calls: 0,
        trajectories: 0,
        last: -1,
        fresh: 0,
        traced: 0,
        declared: false,
        values: new Map(),
      };
      this.slots.push(slot);
      tool.slots.set(path, slot);
    }
    return slot;
  }

  /** Slot of a top-level argument. */
  topSlot(tool: Tool, name: string): Slot {
    let slot = tool.top.get(name);
    if (!slot) {
      slot = this.slot(tool, stepText(name, true));
      tool.top.set(name, slot);
    }
    return slot;
  }

  /** Counts a call and returns the index of its fine node. */
  place(tool: Tool, call: Call, spec: ToolSpec | undefined, effect: Effect, source: string): number {
    const declared = spec ? this.#declared(spec) : NONE;
    let branch = tool.root;
    for (const name of Object.keys(call.args)) {
      const value = call.args[name] as Json;
      if (value === null) continue;
      const slot = this.topSlot(tool, name);
      const step = slot.id * STEPS + this.#candidate(slot, value, declared.has(name));
      let next = branch.next.get(step);
      if (!next) {
        next = { next: new Map(), node: -1 };
        branch.next.set(step, next);
      }
      branch = next;
    }
    if (branch.node < 0) {
      branch.node = this.nodes.length;
      const entries = entriesOf(tool, call);
      this.nodes.push({ tool, entries, effect, calls: 0, errors: 0, pairs: 0, sources: new Map() });
    }
    const node = this.nodes[branch.node] as FineNode;
    node.effect = strongerEffect(node.effect, effect);
    node.calls++;
    if (call.error !== null) node.errors++;
    node.sources.set(source, (node.sources.get(source) ?? 0) + 1);
    return branch.node;
  }

  #declared(spec: ToolSpec): ReadonlySet<string> {
    let names = this.#enums.get(spec);
    if (!names) {
      names = declaredEnums(spec);
      this.#enums.set(spec, names);
    }
    return names;
  }

  /** Counts a value; its number where the slot may turn out to be enumerated, 0 where it may not. */
  #candidate(slot: Slot, value: Json, declared: boolean): number {
    slot.calls++;
    if (declared) slot.declared = true;
    if (typeof value === 'boolean') return value ? 1 : 2;
    if (slot.values === null) return 0;
    const text = candidateText(value);
    if (text === null) {
      slot.values = null;
      return 0;
    }
    let held = slot.values.get(text);
    if (!held) {
      if (slot.values.size >= this.#maxEnumerated) {
        slot.values = null;
        return 0;
      }
      held = { number: slot.values.size + 3, calls: 0 };
      slot.values.set(text, held);
    }
    held.calls++;
    return held.number;
  }
}

function candidateText(value: Json): string | null {
  const text = typeof value === 'string' ? value : typeof value === 'number' ? String(value) : null;
  return text === null || text.length > LONGEST_ENUMERATED ? null : text;
}

/** What a call sets, with the values that its slots still hold as candidates. */
function entriesOf(tool: Tool, call: Call): FineNode['entries'] {
  const entries: FineNode['entries'] = [];
  for (const [name, value] of Object.entries(call.args)) {
    const slot = tool.top.get(name);
    if (!slot || value === null) continue;
    const always = typeof value === 'boolean';
    const text = always ? String(value) : slot.values === null ? null : candidateText(value);
    entries.push({ slot, value: text, always });
  }
  return entries;
}

const WORDLIKE = /^\p{L}[\p{L} _/-]*$/u;
/** Calls a value, on average, before an argument without a declaration counts as enumerated. */
const CALLS_A_VALUE = 8;
/** An argument whose fresh values mostly stand in the output before is filled by it, not chosen: no enumeration. */
const FLOWS = { fresh: 10, share: 0.5 };

/**
 * True where an argument takes its values from a small closed set, so that each value is a configuration of its own:
 * declared so, or seen to (at least two word-like values, eight calls a value). Never an argument that names objects.
 * @param isIdentifier whether a text is an identifier somewhere in the corpus.
 */
export function isEnumerated(slot: Slot, isIdentifier: (text: string) => boolean): boolean {
  if (slot.values === null || slot.values.size === 0) return false;
  if (slot.fresh >= FLOWS.fresh && slot.traced >= FLOWS.share * slot.fresh) return false;
  const values = [...slot.values.keys()];
  if (values.some(isIdentifier)) return false;
  if (slot.declared) return true;
  if (values.length < 2 || fieldOf(slot.path).identifier) return false;
  return slot.calls >= CALLS_A_VALUE * values.length && values.every((value) => WORDLIKE.test(value));
}

/** Names of the set arguments, `name=value` where enumerated, in order. */
export function configurationOf(node: FineNode, enumerated: ReadonlySet<Slot>): string[] {
  return node.entries
    .map(({ slot, value, always }) => {
      const name = argumentName(slot.path);
      return value !== null && (always || enumerated.has(slot)) ? `${name}=${value}` : name;
    })
    .sort();
}

function argumentName(path: string): string {
  return path.startsWith('["') ? (JSON.parse(path.slice(1, -1)) as string) : path;
}

/** Key of a node: `tool{arg,arg=value}`. Characters that separate are escaped inside names and values. */
export function nodeKey(tool: string, configuration: readonly string[]): string {
  return `${tool}{${configuration.map((entry) => entry.replace(/[\\,{}]/g, '\\$&')).join(',')}}`;
}

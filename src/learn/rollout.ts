import type { Json } from '../base/json.ts';
import type { Grammar, PolicyEngine, SampledTurn, Sampler } from '../policy/engine.ts';
import { compileGrammar } from '../policy/phrase.ts';
import type { Task, Verdict } from '../task/model.ts';
import { grade } from '../task/verify/grade.ts';
import type { Observation, World, WorldDefinition } from '../world/kit.ts';
import type { Action, Language } from '../world/language.ts';

/** One turn of an episode: what was sampled, what it meant, what the world answered. */
export interface EpisodeTurn extends SampledTurn {
  action: Action | null;
  /** Why the tokens were no action, where they were none. */
  malformed: string | null;
  observation: Observation | null;
}

/** One attempt of a policy at one task, and the verifier's judgement of it. */
export interface EpisodeRecord {
  task: Task;
  turns: EpisodeTurn[];
  answers: Json[];
  /** How it ended: it said `done`, it said something that is no action, or it ran out of turns or context. */
  end: 'done' | 'malformed' | 'turns' | 'context';
  verdict: Verdict;
}

export interface RolloutOptions {
  /** Rollouts decoded side by side. */
  parallel: number;
  /** Most turns of one episode. */
  turns: number;
  /** 0 = greedy. */
  temperature: number;
  /** Nucleus; 1 where nothing is said. */
  topP?: number;
  /** What may be said in a turn; anything where nothing is said. See `actionGrammar`. */
  grammar?: Grammar;
  seed: number;
  /** Hears of each turn when the world has answered it; `at` is the place of its task in the group under way. */
  heard?(turn: EpisodeTurn, at: number): void;
}

/** The grammar of a language's actions: under it, a turn of at most `longestAction` tokens is always an action. */
export const actionGrammar = (language: Language): Grammar =>
  compileGrammar(language.actions, language.vocabulary.length);

/** A rollout under way. */
interface Live {
  record: Omit<EpisodeRecord, 'verdict'>;
  world: World;
  /** Tokens in the cache so far. */
  length: number;
  /** What the policy is told next; null when it is over. */
  input: number[] | null;
}

/**
 * Plays each task once in its world, from s0, without noise, and grades the episode (V_state, V_trace, V_out). Yields
 * the finished episodes of each group of `parallel` tasks, in the order of `tasks`.
 */
export async function* rollouts(
  engine: Pick<PolicyEngine, 'shape' | 'sampler'>,
  definition: WorldDefinition,
  tasks: readonly Task[],
  options: RolloutOptions,
): AsyncGenerator<EpisodeRecord[]> {
  const sampler = engine.sampler(Math.min(options.parallel, Math.max(1, tasks.length)));
  try {
    for (let at = 0; at < tasks.length; at += sampler.rollouts) {
      const group = tasks.slice(at, at + sampler.rollouts);
      yield await playGroup(sampler, engine.shape.context, definition, group, {
        ...options,
        seed: options.seed + at,
      });
    }
  } finally {
    sampler.destroy();
  }
}

async function playGroup(
  sampler: Sampler,
  context: number,
  definition: WorldDefinition,
  tasks: readonly Task[],
  options: RolloutOptions,
): Promise<EpisodeRecord[]> {
  const { language } = definition;
  sampler.reset();
  const live: Live[] = tasks.map((task) => ({
    record: { task, turns: [], answers: [], end: 'turns' },
    world: definition.create(task.worldSeed),
    length: 0,
    input: language.encodeRequest(task.request),
  }));
  for (let turn = 0; turn < options.turns && live.some((one) => one.input); turn++) {
    for (const one of live) {
      if (one.input && one.length + one.input.length + language.longestAction > context) {
        one.record.end = 'context';
        one.input = null;
      }
    }
    if (!live.some((one) => one.input)) break;
    const inputs = Array.from({ length: sampler.rollouts }, (_, r) => live[r]?.input ?? null);
    const { temperature, seed, topP, grammar } = options;
    const sampled = await sampler.turn(inputs, {
      stop: language.end,
      limit: language.longestAction,
      temperature,
      seed,
      ...(topP === undefined ? {} : { topP }),
      ...(grammar === undefined ? {} : { grammar }),
    });
    live.forEach((one, r) => {
      if (!one.input) return;
      advance(one, sampled[r]!, definition);
      options.heard?.(one.record.turns.at(-1)!, r);
    });
  }
  return live.map(({ record }) => ({ ...record, verdict: judge(record) }));
}

/** Carries out what was sampled and prepares what the policy sees next. */
function advance(one: Live, said: SampledTurn, definition: WorldDefinition): void {
  const { language } = definition;
  const { tokens } = said;
  one.length += (one.input?.length ?? 0) + tokens.length;
  one.input = null;
  const parsed = language.parseAction(tokens);
  if (!parsed.ok) {
    one.record.end = 'malformed';
    one.record.turns.push({ ...said, action: null, malformed: parsed.why, observation: null });
    return;
  }
  const { action } = parsed;
  if (action.kind === 'done') {
    one.record.end = 'done';
    one.record.answers = action.answers;
    one.record.turns.push({ ...said, action, malformed: null, observation: null });
    return;
  }
  const observation = one.world.call(action.tool, action.args);
  one.record.turns.push({ ...said, action, malformed: null, observation });
  one.input = language.encodeObservation(action.tool, observation);
}

const ENDINGS = {
  malformed: 'said something that is no action',
  turns: 'ran out of turns without saying done',
  context: 'ran out of context without saying done',
};

function judge(record: Omit<EpisodeRecord, 'verdict'>): Verdict {
  const { task, turns, answers, end } = record;
  const calls = turns.flatMap(({ action }) =>
    action?.kind === 'call' ? [{ tool: action.tool, args: action.args }] : [],
  );
  const verdict = grade(task, calls, answers);
  if (end === 'done') return verdict;
  return { ...verdict, passed: false, failures: [ENDINGS[end], ...verdict.failures] };
}

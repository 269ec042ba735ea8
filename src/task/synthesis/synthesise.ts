import { LabError } from '../../base/errors.ts';
import { Rng } from '../../base/rng.ts';
import { type Noise, QUIET, type WorldDefinition } from '../../world/kit.ts';
import type { ChainCall, Task, ToolGraph, WalkMove } from '../model.ts';
import { type Bench, openBench, registerWorld } from '../verify/worlds.ts';
import { type WalkOptions, walkOptions } from '../walk/options.ts';
import { walk } from '../walk/walk.ts';
import { assertChain } from './assertions.ts';
import { reverse } from './goals.ts';
import { requestShape, taskId } from './identity.ts';
import { orderedWrites } from './order.ts';
import { phrase } from './phrase.ts';

export interface SynthesisOptions {
  seed: number | string;
  /** Tasks wanted. */
  tasks: number;
  walk?: Partial<WalkOptions>;
  /** Chance that a call fails while walking; tasks are always written down without noise. */
  noise?: Noise;
  /** Walks from each s0. Default 6. */
  walksPerWorld?: number;
  /** Gives up after this many walks. Default 100 a task, at least 1,000. */
  maxWalks?: number;
  /** Share of the objects found in a list that a request describes instead of naming them. Default 0.5. */
  descriptions?: number;
}

/** What became of all walks. */
export interface Synthesis {
  worlds: number;
  walks: number;
  /** Walks without a failed call. */
  unbroken: number;
  chains: number;
  tasks: number;
  /** Calls executed while walking, and those that failed. */
  executed: number;
  failed: number;
  /** Walks dropped, and chains that became no task, by reason. */
  dropped: Record<string, number>;
  rejected: Record<string, number>;
}

export type SynthesisEvent = WalkMove | { type: 'task'; task: Task };

/**
 * Cross-Environment Verifiable Task Synthesis (ToolSpace §3) up to the replay gate: many s0 (worlds `${seed}/0`,
 * `${seed}/1` …), from each several walks, each chain turned into a request with assertions, every content once.
 * Tells every move; deterministic in the seed. Ends at `tasks` tasks or `maxWalks` walks, and returns the counts.
 * @throws LabError where the graph has no tool of this world, or an option makes no sense.
 */
export function* synthesise(
  definition: WorldDefinition,
  graph: ToolGraph,
  options: SynthesisOptions,
): Generator<SynthesisEvent, Synthesis> {
  check(definition, graph, options);
  registerWorld(definition);
  const { walksPerWorld = 6, descriptions = 0.5, noise = QUIET } = options;
  const maxWalks = options.maxWalks ?? Math.max(1000, 100 * options.tasks);
  const limits = walkOptions(options.walk ?? {});
  const counts: Synthesis = {
    ...{ worlds: 0, walks: 0, unbroken: 0, chains: 0, tasks: 0, executed: 0, failed: 0 },
    ...{ dropped: {}, rejected: {} },
  };
  const known = new Set<string>();
  while (counts.tasks < options.tasks && counts.walks < maxWalks) {
    const worldSeed = `${options.seed}/${counts.worlds++}`;
    const world = definition.create(worldSeed, noise);
    const start = world.snapshot();
    for (let n = 0; n < walksPerWorld && counts.tasks < options.tasks && counts.walks < maxWalks; n++) {
      const rng = new Rng(worldSeed).fork('walk').fork(n);
      world.restore(start);
      const bound = { world, lexicon: definition.lexicon, walk: counts.walks++ };
      const walked = yield* walk(bound, graph, rng, limits);
      counts.executed += walked.executed;
      counts.failed += walked.failed;
      if (walked.failed === 0) counts.unbroken++;
      if (walked.dropped !== null) {
        bump(counts.dropped, walked.dropped);
        continue;
      }
      counts.chains++;
      const made = makeTask(openBench(definition, worldSeed), worldSeed, walked.chain, rng, {
        descriptions,
        limits,
      });
      if (typeof made === 'string') bump(counts.rejected, made);
      else if (known.has(made.id)) bump(counts.rejected, 'the task is known already');
      else {
        known.add(made.id);
        counts.tasks++;
        yield { type: 'task', task: made };
      }
    }
  }
  return counts;
}

/** A chain as a task; a sentence where it becomes none. */
function makeTask(
  bench: Bench,
  worldSeed: string,
  walked: readonly ChainCall[],
  rng: Rng,
  { descriptions, limits }: { descriptions: number; limits: WalkOptions },
): Task | string {
  const reversed = reverse(bench, walked, rng.fork('reverse'), descriptions);
  if (typeof reversed === 'string') return reversed;
  if (reversed.chain.length < limits.length[0])
    return 'too little is left without calls that contribute nothing';
  const asserted = assertChain(bench, reversed);
  if (typeof asserted === 'string') return asserted;
  const { definition } = bench;
  const { request } = reversed;
  const unsayable = sayable(bench, { ...asserted, request });
  if (unsayable !== null) return unsayable;
  const content = { world: definition.id, worldSeed, request, ...asserted };
  const text = phrase(
    request,
    definition.lexicon,
    rng.fork('phrase'),
    orderedWrites(bench, asserted.chain, request),
  );
  return { id: taskId(content), ...content, text, shape: requestShape(request) };
}

/** Why the world's language cannot say the task; `null` where it can. */
function sayable({ definition }: Bench, task: Pick<Task, 'request' | 'chain' | 'assertions'>): string | null {
  const { language } = definition;
  try {
    language.encodeRequest(task.request);
    for (const { tool, args } of task.chain) language.encodeAction({ kind: 'call', tool, args });
    language.encodeAction({ kind: 'done', answers: task.assertions.out.map(({ value }) => value) });
    return null;
  } catch (error) {
    if (error instanceof LabError) return 'the language of the world cannot say it';
    throw error;
  }
}

function check(definition: WorldDefinition, graph: ToolGraph, options: SynthesisOptions): void {
  const tools = new Set(definition.tools.map(({ name }) => name));
  if (!graph.nodes.some(({ tool }) => tools.has(tool))) {
    throw new LabError(`the graph has no tool of the world "${definition.id}"`, {
      where: 'synthesise',
      remedy: 'mine the graph from a corpus of this world',
    });
  }
  const numbers = {
    tasks: options.tasks,
    walksPerWorld: options.walksPerWorld ?? 1,
    maxWalks: options.maxWalks ?? 1,
  };
  for (const [name, value] of Object.entries(numbers)) {
    if (Number.isInteger(value) && value >= (name === 'tasks' ? 0 : 1)) continue;
    throw new LabError(`${value} is no number for ${name}`, {
      where: 'synthesise',
      remedy: 'give a whole number',
    });
  }
  const share = options.descriptions ?? 0;
  if (!(share >= 0 && share <= 1)) {
    throw new LabError(`${share} is no share`, {
      where: 'synthesise, descriptions',
      remedy: 'give a number from 0 to 1',
    });
  }
}

function bump(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

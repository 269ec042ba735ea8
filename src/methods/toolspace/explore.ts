import { GraphMiner } from '../../task/graph/miner.ts';
import type { Task, WalkMove } from '../../task/model.ts';
import { synthesise } from '../../task/synthesis/synthesise.ts';
import type { Trajectory } from '../../trace/model.ts';
import type { WorldDefinition } from '../../world/kit.ts';
import type { PrepareEvent, RunSpec } from '../method.ts';
import { readSettings } from './controls.ts';

/** Trajectories between two reports of progress. */
const REPORT = 50;
/** Moves, and tasks, that travel together. */
const MOVES = 64;
const TASKS = 50;
/** Walks whose every move is told; of later ones, which only repeat the picture, one in `SAMPLE`. */
const TOLD = 60;
const SAMPLE = 25;

/**
 * Tool Space Exploration and Cross-Environment Verifiable Task Synthesis (ToolSpace §3): traces → graph → state-aware
 * walks with rollback → candidate tasks. The replay gate comes after. A pure function of the spec and the traces.
 */
export function* explore(
  definition: WorldDefinition,
  spec: RunSpec,
  traces?: Iterable<Trajectory>,
): Generator<PrepareEvent> {
  const settings = readSettings(spec);
  const corpus = traces ?? definition.corpus(settings);
  const miner = new GraphMiner({ minCount: settings.minCount });
  let read = 0;
  for (const trajectory of corpus) {
    miner.add(trajectory);
    read++;
    if (read % REPORT === 0)
      yield {
        type: 'progress',
        stage: 'traces',
        done: read,
        total: settings.trajectories,
        unit: 'trajectories',
      };
  }
  const graph = miner.finish();
  yield {
    type: 'progress',
    stage: 'graph',
    done: graph.edges.length,
    total: graph.edges.length,
    unit: 'edges',
  };
  yield { type: 'graph', graph };

  const wanted = settings.tasks + settings.heldOut;
  let moves: WalkMove[] = [];
  let tasks: Task[] = [];
  let made = 0;
  const events = synthesise(definition, graph, {
    seed: `${settings.seed}/walks`,
    tasks: wanted,
    walk: {
      length: [settings.minLength, settings.maxLength],
      rollback: settings.rollback,
      weights: settings.weights,
    },
    noise: { read: settings.noise / 10, write: settings.noise },
  });
  for (const event of events) {
    if (event.type === 'task') {
      tasks.push(event.task);
      made++;
    } else if (event.walk < TOLD || event.walk % SAMPLE === 0) moves.push(event);
    if (moves.length >= MOVES) {
      yield { type: 'moves', moves };
      moves = [];
    }
    if (tasks.length >= TASKS) {
      yield { type: 'tasks', tasks };
      yield { type: 'progress', stage: 'walk', done: made, total: wanted, unit: 'tasks' };
      tasks = [];
    }
  }
  if (moves.length > 0) yield { type: 'moves', moves };
  if (tasks.length > 0) yield { type: 'tasks', tasks };
  yield { type: 'progress', stage: 'walk', done: made, total: made, unit: 'tasks' };
}

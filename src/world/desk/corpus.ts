import { Rng } from '../../base/rng.ts';
import type { Call, Message, ToolSpec, Trajectory, Turn } from '../../trace/model.ts';
import { type Ending, outcomeOf, perform } from '../kit/script.ts';
import type { LogEntry, Noise, World } from '../kit.ts';
import { createDesk } from './create.ts';
import { expert } from './expert.ts';
import { drawJob, type Job } from './jobs.ts';
import { OPENING } from './names.ts';
import { careful, novice } from './novice.ts';
import { DESK_TOOLS } from './tools.ts';

/** How often the services of the desk fail while traces are recorded. */
const NOISE: Noise = { read: 0.02, write: 0.04 };

/** How often somebody comes with a second job after the first. */
const SECOND_JOB = 0.3;

const SYSTEM: Message = {
  kind: 'message',
  role: 'system',
  text: `You work at a support desk. The clock of the desk stands at hour ${OPENING}. Use the tools; do what is asked and nothing else.`,
};

/**
 * Traces of the desk's expert and novice at everyday jobs, one world a trajectory. Trajectory i depends on the seed
 * and i alone. Reward 1: the objects that changed and the answers told are those of the expert without noise.
 * @param noviceShare share of trajectories by the novice, 0 to 1.
 */
export function* deskCorpus(options: {
  seed: number;
  trajectories: number;
  noviceShare: number;
}): Generator<Trajectory> {
  const { seed, trajectories, noviceShare } = options;
  for (let i = 0; i < trajectories; i++) {
    const rng = new Rng(seed).fork('corpus').fork(i);
    const world = createDesk(`${seed}/corpus/${i}`, NOISE);
    const byNovice = rng.chance(noviceShare);
    const id = `desk-${seed}-${i}`;
    const turns: Turn[] = [SYSTEM];
    let reward = 1;
    for (let jobs = rng.chance(SECOND_JOB) ? 2 : 1; jobs > 0; jobs--) {
      const job = drawJob(world, rng);
      const before = turns.length;
      if (!work(world, job, byNovice, rng, turns)) reward = 0;
      number(turns, before, id);
    }
    yield { id, source: 'desk', rank: 'synthetic', file: `desk-${seed}`, turns, tools: SPECS, reward };
  }
}

const SPECS: ToolSpec[] = [...DESK_TOOLS.declarations];

/** Has a job done and writes down what was said and called. @returns whether it came out as it should. */
function work(world: World, job: Job, byNovice: boolean, rng: Rng, turns: Turn[]): boolean {
  const start = world.snapshot();
  const reference = createDesk(0);
  reference.restore(start);
  const wanted = outcomeOf(reference, start, perform(reference, expert(job.request)).ending);
  const plan = careful(expert(job.request), rng);
  const { calls, ending } = perform(world, byNovice ? novice(plan, job.request, rng) : plan);
  turns.push({ kind: 'message', role: 'user', text: job.text });
  turns.push(...calls.map(callOf));
  turns.push({ kind: 'message', role: 'agent', text: closing(ending) });
  return outcomeOf(world, start, ending) === wanted;
}

function closing({ answers, gaveUp }: Ending): string {
  if (gaveUp !== null) return `I could not finish this: ${gaveUp}.`;
  if (answers.length === 0) return 'Done.';
  return `${answers.map((answer) => (answer === null ? 'nobody or never' : String(answer))).join('; ')}.`;
}

function callOf({ tool, args, observation }: LogEntry): Call {
  return {
    kind: 'call',
    id: '',
    tool,
    args,
    result: observation.ok ? observation.value : undefined,
    error: observation.ok ? null : `${observation.error.code}: ${observation.error.message}`,
    caller: 'agent',
    meta: false,
    place: { file: '' },
  };
}

/** Gives calls their ids and places, counted through the trajectory. */
function number(turns: Turn[], from: number, id: string): void {
  for (let i = from; i < turns.length; i++) {
    const turn = turns[i]!;
    if (turn.kind !== 'call') continue;
    turn.id = `${id}/${i}`;
    turn.place = { file: id, field: `turns[${i}]` };
  }
}

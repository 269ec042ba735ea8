import { LabError } from '../../base/errors.ts';
import { Rng } from '../../base/rng.ts';
import type { Call, Message, ToolSpec, Trajectory, Turn } from '../../trace/model.ts';
import { type Ending, outcomeOf, perform } from '../kit/script.ts';
import type { LogEntry, Noise, Snapshot, World } from '../kit.ts';
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
 * @param options.noviceShare share of trajectories by the novice, 0 to 1.
 * @throws LabError on a share or a number of trajectories that makes no sense.
 */
export function* deskCorpus(options: {
  seed: number;
  trajectories: number;
  noviceShare: number;
}): Generator<Trajectory> {
  const { seed, trajectories, noviceShare } = options;
  if (!(noviceShare >= 0 && noviceShare <= 1))
    throw outOfRange('noviceShare', noviceShare, 'between 0 and 1');
  if (!(trajectories >= 0)) throw outOfRange('trajectories', trajectories, 'of at least 0');
  const quiet = createDesk(seed);
  for (let i = 0; i < trajectories; i++) {
    const rng = new Rng(seed).fork('corpus').fork(i);
    const world = createDesk(`${seed}/corpus/${i}`, NOISE);
    const byNovice = rng.chance(noviceShare);
    const id = `desk-${seed}-${i}`;
    const turns: Turn[] = [SYSTEM];
    let reward = 1;
    for (let jobs = rng.chance(SECOND_JOB) ? 2 : 1; jobs > 0; jobs--) {
      const job = drawJob(world, rng);
      const wanted = wantedOutcome(quiet, world.snapshot(), job);
      const { said, outcome } = work(world, job, byNovice, rng);
      for (const turn of said) turns.push('tool' in turn ? callOf(turn, id, turns.length) : turn);
      if (outcome !== wanted) reward = 0;
    }
    yield { id, source: 'desk', rank: 'synthetic', file: `desk-${seed}`, turns, tools: SPECS, reward };
  }
}

function outOfRange(name: string, value: number, wanted: string): LabError {
  return new LabError(`${name} is ${value}`, { where: 'desk corpus', remedy: `give a number ${wanted}` });
}

const SPECS: ToolSpec[] = [...DESK_TOOLS.declarations];

/** What the expert brings about from `start` in a world without noise. */
function wantedOutcome(quiet: World, start: Snapshot, job: Job): string {
  quiet.restore(start);
  return outcomeOf(quiet, start, perform(quiet, expert(job.request)).ending);
}

/** Has a job done: what was said and called, and what came of it. */
function work(world: World, job: Job, byNovice: boolean, rng: Rng) {
  const start = world.snapshot();
  const plan = careful(expert(job.request), rng);
  const { calls, ending } = perform(world, byNovice ? novice(plan, job.request, rng) : plan);
  const asked: Message = { kind: 'message', role: 'user', text: job.text };
  const told: Message = { kind: 'message', role: 'agent', text: closing(ending) };
  return { said: [asked, ...calls, told], outcome: outcomeOf(world, start, ending) };
}

function closing({ answers, gaveUp }: Ending): string {
  if (gaveUp !== null) return `I could not finish this: ${gaveUp}.`;
  if (answers.length === 0) return 'Done.';
  return `${answers.map((answer) => (answer === null ? 'nobody or never' : String(answer))).join('; ')}.`;
}

function callOf({ tool, args, observation }: LogEntry, trajectory: string, turn: number): Call {
  return {
    kind: 'call',
    id: `${trajectory}/${turn}`,
    tool,
    args,
    result: observation.ok ? observation.value : undefined,
    error: observation.ok ? null : `${observation.error.code}: ${observation.error.message}`,
    caller: 'agent',
    meta: false,
    place: { file: trajectory, field: `turns[${turn}]` },
  };
}

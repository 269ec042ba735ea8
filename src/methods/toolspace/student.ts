import { LabError } from '../../base/errors.ts';
import { hashHex } from '../../base/hash.ts';
import { Rng } from '../../base/rng.ts';
import { demonstration } from '../../learn/demonstration.ts';
import { describeEpisode } from '../../learn/describe.ts';
import { wilson } from '../../learn/rate.ts';
import { type EpisodeRecord, rollouts } from '../../learn/rollout.ts';
import { ADAMW, type SftReport, sft } from '../../learn/sft.ts';
import type { PolicyEngine, PolicyShape } from '../../policy/engine.ts';
import { parameterCount } from '../../policy/layout.ts';
import { checkCheckpoint } from '../../policy/shape.ts';
import type { TrainingCheckpoint, TrainingState } from '../../policy/training.ts';
import type { Task } from '../../task/model.ts';
import { taskSetHash } from '../../task/synthesis/dataset.ts';
import type { WorldDefinition } from '../../world/kit.ts';
import type { LearnContext, LearnEvent, RunSpec, Student, TaskSplit } from '../method.ts';
import { readSettings, type Settings } from './controls.ts';

/** The arm that is trained. */
const TRAINED = 'trained';
/** Width of an attention head. */
const HEAD = 16;
/** Rollouts decoded side by side in an evaluation. */
const PARALLEL = 128;
/** Unseen tasks in the evaluations on the way; the last one uses all. */
const ON_THE_WAY = 128;
/** Most turns of an episode beyond the longest chain. */
const SPARE_TURNS = 3;
/** Steps between two readbacks, and between two checkpoints: whole multiples of one another. */
const REPORT = 10;
const CHECKPOINT = 100;

/** Trains and evaluates the arms: SFT on replayed chains (ToolSpace §Training), success judged by V on unseen tasks. */
export async function* learn(
  definition: WorldDefinition,
  spec: RunSpec,
  tasks: TaskSplit,
  context: LearnContext,
): AsyncGenerator<LearnEvent> {
  const settings = readSettings(spec);
  const data = tasks.train.map((task) => demonstration(task, definition.language));
  const shape = studentShape(settings, definition, [...tasks.train, ...tasks.heldOut]);
  const identity: Identity = {
    vocabulary: hashHex(JSON.stringify(definition.language.vocabulary)),
    run: { ...spec, arm: TRAINED, taskSet: taskSetHash([...tasks.train, ...tasks.heldOut]) },
  };
  const resume = context.resume;
  if (resume?.checkpoint?.training) checkIdentity(resume.checkpoint.training, identity);
  const engine = await context.openPolicy(shape, settings.tokens);
  try {
    yield { type: 'device', device: engine.device, shape, parameters: parameterCount(shape) };
    for (const arm of spec.arms) {
      if (resume?.finished.includes(arm)) continue;
      const resumed = resume?.arm === arm ? resume.checkpoint : undefined;
      if (resumed) engine.load(resumed);
      else engine.initialise(spec.seed);
      const exam = { engine, definition, tasks: tasks.heldOut, settings };
      if (arm === TRAINED) yield* train(data, exam, context.clock, identity, resumed);
      else yield* evaluate(exam, arm, 0);
      yield { type: 'arm', arm, step: arm === TRAINED ? settings.steps : 0 };
    }
  } finally {
    engine.destroy();
  }
}

/** What a checkpoint says about where it belongs. */
type Identity = Required<Pick<TrainingState, 'run' | 'vocabulary'>>;

/** @throws LabError where a checkpoint was trained on other tasks or in another language. */
function checkIdentity({ run, vocabulary }: TrainingState, wanted: Identity): void {
  const refuse = (what: string) => {
    throw new LabError(`the checkpoint was trained ${what}`, {
      where: 'checkpoint',
      remedy: 'go on with the configuration and seed that it was made with, or start anew',
    });
  };
  if (vocabulary !== undefined && vocabulary !== wanted.vocabulary)
    refuse(`with another vocabulary (${vocabulary}, not ${wanted.vocabulary})`);
  if (run && run.taskSet !== wanted.run.taskSet)
    refuse(`on another task set (${run.taskSet}, not ${wanted.run.taskSet})`);
}

interface Exam {
  engine: PolicyEngine;
  definition: WorldDefinition;
  tasks: readonly Task[];
  settings: Settings;
}

async function* train(
  data: ReturnType<typeof demonstration>[],
  exam: Exam,
  clock: LearnContext['clock'],
  identity: Identity,
  resumed: TrainingCheckpoint | undefined,
): AsyncGenerator<LearnEvent> {
  const { engine, settings } = exam;
  const arm = TRAINED;
  const done = resumed?.step ?? 0;
  const options = {
    schedule: { peak: settings.learningRate, steps: settings.steps, warmup: settings.warmup, final: 0.1 },
    tokens: settings.tokens,
    sequences: settings.tokens,
    optimiser: ADAMW,
    reportEvery: REPORT,
    names: settings.rename ? exam.definition.language.names : [],
  };
  const examine = (step: number): AsyncGenerator<LearnEvent> | [] => {
    if (step === settings.steps) return evaluate(exam, arm, step);
    if (step === 0 || step % settings.evaluateEvery !== 0) return [];
    return evaluate({ ...exam, tasks: exam.tasks.slice(0, ON_THE_WAY) }, arm, step);
  };
  const save = async (state: SftReport['state']): Promise<TrainingCheckpoint> => {
    const checkpoint = await engine.save();
    // A step may break the weights that the loss was measured before: nothing could go on from those.
    checkCheckpoint(checkpoint);
    return { ...checkpoint, training: { ...identity, ...state } };
  };
  // A checkpoint is taken before the evaluation of its step, which a resumed run therefore repeats.
  yield* examine(done);
  let began = clock();
  const rng = new Rng(settings.seed).fork('sft');
  for await (const report of sft(engine, data, options, rng, resumed)) {
    const seconds = (clock() - began) / 1000;
    const tokens = report.stats.reduce((sum, step) => sum + step.tokens, 0);
    const step = report.stats.at(-1)?.step ?? done;
    yield {
      type: 'steps',
      arm,
      stats: report.stats,
      learningRate: report.learningRate,
      tokensPerSecond: tokens / seconds,
    };
    yield { type: 'progress', stage: 'train', arm, done: step, total: settings.steps, unit: 'steps' };
    if (step % CHECKPOINT === 0 || step === settings.steps || step % settings.evaluateEvery === 0)
      yield { type: 'checkpoint', arm, checkpoint: await save(report.state) };
    yield* examine(step);
    began = clock();
  }
}

async function* evaluate(exam: Exam, arm: string, step: number): AsyncGenerator<LearnEvent> {
  const { engine, definition, tasks, settings } = exam;
  const records: EpisodeRecord[] = [];
  const turns = longestChain(tasks) + 1 + SPARE_TURNS;
  const play = rollouts(engine, definition, tasks, {
    parallel: PARALLEL,
    turns,
    temperature: 0,
    seed: settings.seed,
  });
  const progress = (): LearnEvent => ({
    type: 'progress',
    stage: 'evaluate',
    arm,
    done: records.length,
    total: tasks.length,
    unit: 'tasks',
  });
  yield progress();
  for await (const group of play) {
    records.push(...group);
    yield progress();
  }
  const passed = records.filter((record) => record.verdict.passed);
  const calls = records.reduce(
    (sum, { turns: said }) => sum + said.filter((turn) => turn.observation).length,
    0,
  );
  const refused = records.reduce(
    (sum, { turns: said }) => sum + said.filter((turn) => turn.observation?.ok === false).length,
    0,
  );
  yield {
    type: 'evaluation',
    arm,
    step,
    success: wilson(passed.length, records.length),
    metrics: {
      calls: calls / records.length,
      refused: calls > 0 ? refused / calls : 0,
      malformed: records.filter((record) => record.end === 'malformed').length / records.length,
    },
    episodes: pickEpisodes(records).map((record) => describeEpisode(record, definition.language)),
  };
}

const longestChain = (tasks: readonly Task[]) =>
  tasks.reduce((most, task) => Math.max(most, task.chain.length), 0);

/** The shape of the student: context long enough for any demonstration and a few turns more, to a multiple of 32. */
function studentShape(
  settings: Settings,
  { language }: WorldDefinition,
  tasks: readonly Task[],
): PolicyShape {
  const longest = tasks.reduce(
    (most, task) => Math.max(most, demonstration(task, language).tokens.length),
    0,
  );
  return shapeFor(settings, language, longest);
}

/** Tokens of a request, and of a call with its answer, at most: what desk's longest demonstrations come to. */
const REQUEST_TOKENS = 32;
const CALL_TOKENS = 10;

/** The student before there are tasks: as if the longest demonstration had the most calls that a walk may make. */
export function expectedStudent({ language }: WorldDefinition, spec: RunSpec): Student {
  const settings = readSettings(spec);
  const longest = REQUEST_TOKENS + CALL_TOKENS * settings.maxLength;
  const shape = shapeFor(settings, language, longest);
  return { shape, capacity: settings.tokens, rollouts: PARALLEL };
}

function shapeFor(settings: Settings, language: WorldDefinition['language'], longest: number): PolicyShape {
  return {
    vocab: language.vocabulary.length,
    width: settings.width,
    layers: settings.layers,
    heads: settings.width / HEAD,
    hidden: 4 * settings.width,
    context: Math.ceil((longest * 1.5 + language.longestAction) / 32) * 32,
  };
}

/** Two failures and two successes, the first of each: enough to read. */
function pickEpisodes(records: readonly EpisodeRecord[]): EpisodeRecord[] {
  const take = (passed: boolean) => records.filter((record) => record.verdict.passed === passed).slice(0, 2);
  return [...take(false), ...take(true)];
}

import type { Config, Control, RunSpec } from '../method.ts';

/** What a reader can turn, with its meaning and bounds. */
export const controls: Control[] = [
  {
    key: 'trajectories',
    label: 'Trajectories',
    group: 'Traces',
    kind: 'integer',
    unit: 'trajectories',
    min: 20,
    max: 20000,
    step: 20,
    help: 'How many runs of the scripted expert and novice the tool graph is mined from.',
    paper: 'over 200,000',
  },
  {
    key: 'noviceShare',
    label: 'Novice share',
    group: 'Traces',
    kind: 'number',
    unit: 'share',
    min: 0,
    max: 1,
    step: 0.05,
    help: 'Share of runs by the novice, who makes mistakes: its refused calls are where retry edges come from.',
  },
  {
    key: 'minCount',
    label: 'Least count of an edge',
    group: 'Graph',
    kind: 'integer',
    unit: 'pairs',
    min: 1,
    max: 50,
    step: 1,
    help: 'Edges seen in fewer pairs of calls than this are cut as rare.',
  },
  {
    key: 'weights',
    label: 'Walk weights',
    group: 'Walks',
    kind: 'choice',
    paper: 'witnessed; uniform lost 6.2 points',
    help: 'Follow edges as often as the traces did, or every edge alike.',
    choices: [
      { value: 'witnessed', label: 'witnessed, w = N_ij / N_i' },
      { value: 'uniform', label: 'uniform' },
    ],
  },
  {
    key: 'rollback',
    label: 'Rollback',
    group: 'Walks',
    kind: 'choice',
    paper: 'on; off lost 4.8 points',
    help: 'After a failed call go back to the state before it and try another edge, or give the walk up.',
    choices: [
      { value: 'on', label: 'on' },
      { value: 'off', label: 'off' },
    ],
  },
  {
    key: 'minLength',
    label: 'Shortest walk',
    group: 'Walks',
    kind: 'integer',
    unit: 'calls',
    min: 1,
    max: 12,
    step: 1,
    help: 'Calls a walk makes at least.',
  },
  {
    key: 'maxLength',
    label: 'Longest walk',
    group: 'Walks',
    kind: 'integer',
    unit: 'calls',
    min: 1,
    max: 12,
    step: 1,
    help: 'Calls a walk makes at most. Longer walks make harder tasks.',
    paper: 'up to 209 calls',
  },
  {
    key: 'noise',
    label: 'Failing calls',
    group: 'Walks',
    kind: 'number',
    unit: 'share',
    min: 0,
    max: 0.9,
    step: 0.05,
    help: 'Share of write calls that time out while walking; of reads a tenth of it. Replay and evaluation never fail so.',
  },
  {
    key: 'tasks',
    label: 'Training tasks',
    group: 'Tasks',
    kind: 'integer',
    unit: 'tasks',
    min: 10,
    max: 20000,
    step: 10,
    help: 'Distinct verified tasks to train on.',
    paper: '34,376',
  },
  {
    key: 'heldOut',
    label: 'Unseen tasks',
    group: 'Tasks',
    kind: 'integer',
    unit: 'tasks',
    min: 10,
    max: 2000,
    step: 10,
    help: 'Tasks kept for evaluation: other worlds, other identifiers, none of them trained on.',
  },
  {
    key: 'width',
    label: 'Width',
    group: 'Policy',
    kind: 'choice',
    help: 'Width D of the transformer; parameters grow with its square.',
    choices: ['32', '48', '64', '96', '128'].map((value) => ({ value, label: value })),
  },
  {
    key: 'layers',
    label: 'Layers',
    group: 'Policy',
    kind: 'integer',
    unit: 'layers',
    min: 1,
    max: 6,
    step: 1,
    help: 'Transformer blocks. Copying an identifier from an observation needs two.',
  },
  {
    key: 'steps',
    label: 'Training steps',
    group: 'Training',
    kind: 'integer',
    unit: 'steps',
    min: 10,
    max: 20000,
    step: 10,
    help: 'Optimiser steps of supervised fine-tuning on replayed chains.',
  },
  {
    key: 'tokens',
    label: 'Tokens a step',
    group: 'Training',
    kind: 'integer',
    unit: 'tokens',
    min: 256,
    max: 16384,
    step: 64,
    help: 'Token positions packed into a step, context included.',
  },
  {
    key: 'learningRate',
    label: 'Learning rate',
    group: 'Training',
    kind: 'number',
    unit: '',
    min: 0.00001,
    max: 0.05,
    step: 0.00001,
    help: 'Peak of the schedule: linear warm-up, then linear decay to a tenth.',
  },
  {
    key: 'warmup',
    label: 'Warm-up',
    group: 'Training',
    kind: 'integer',
    unit: 'steps',
    min: 1,
    max: 2000,
    step: 1,
    help: 'Steps until the peak rate is reached.',
  },
  {
    key: 'rename',
    label: 'Fresh names',
    group: 'Training',
    kind: 'choice',
    help: 'Whether tickets, people and addresses get other names each time a task is shown, as if its world were drawn anew. Off, the student can learn tasks by heart.',
    choices: [
      { value: 'on', label: 'on' },
      { value: 'off', label: 'off' },
    ],
  },
  {
    key: 'evaluateEvery',
    label: 'Evaluate every',
    group: 'Training',
    kind: 'integer',
    unit: 'steps',
    min: 10,
    max: 20000,
    step: 10,
    help: 'Steps between two evaluations on a part of the unseen tasks; the last one uses all of them.',
  },
];

/** Minutes on a processor: short walks, so that a student of 108,000 parameters can master them. */
const micro: Config = {
  trajectories: 600,
  noviceShare: 0.3,
  minCount: 3,
  weights: 'witnessed',
  rollback: 'on',
  minLength: 2,
  maxLength: 3,
  noise: 0.3,
  tasks: 6000,
  heldOut: 400,
  width: '64',
  layers: 2,
  steps: 3000,
  tokens: 512,
  learningRate: 0.003,
  warmup: 50,
  rename: 'on',
  evaluateEvery: 500,
};

/** For a graphics card: walks of up to six calls, a student of three layers. */
const laptop: Config = {
  ...micro,
  trajectories: 3000,
  maxLength: 6,
  tasks: 12000,
  heldOut: 1000,
  layers: 3,
  steps: 8000,
  tokens: 1024,
  evaluateEvery: 1000,
};

export const presets: { micro: Config; laptop: Config } = { micro, laptop };

/** The configuration with its types: numbers as numbers, switches as booleans. */
export interface Settings {
  seed: number;
  trajectories: number;
  noviceShare: number;
  minCount: number;
  weights: 'witnessed' | 'uniform';
  rollback: boolean;
  minLength: number;
  maxLength: number;
  noise: number;
  tasks: number;
  heldOut: number;
  width: number;
  layers: number;
  steps: number;
  tokens: number;
  learningRate: number;
  warmup: number;
  rename: boolean;
  evaluateEvery: number;
}

/** Reads a checked configuration (see `normaliseConfig`) into settings. */
export function readSettings({ config, seed }: RunSpec): Settings {
  const number = (key: string) => Number(config[key]);
  return {
    seed,
    trajectories: number('trajectories'),
    noviceShare: number('noviceShare'),
    minCount: number('minCount'),
    weights: config.weights === 'uniform' ? 'uniform' : 'witnessed',
    rollback: config.rollback !== 'off',
    minLength: number('minLength'),
    maxLength: Math.max(number('minLength'), number('maxLength')),
    noise: number('noise'),
    tasks: number('tasks'),
    heldOut: number('heldOut'),
    width: number('width'),
    layers: number('layers'),
    steps: number('steps'),
    tokens: number('tokens'),
    learningRate: number('learningRate'),
    warmup: number('warmup'),
    rename: config.rename !== 'off',
    evaluateEvery: number('evaluateEvery'),
  };
}

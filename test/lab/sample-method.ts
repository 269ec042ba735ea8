import type { Linkable } from '../../src/lab/link.ts';

/** A small method for tests of configurations and links: every kind of control, three arms, two presets. */
export const SAMPLE: Linkable = {
  id: 'toolspace',
  title: 'ToolSpace',
  controls: [
    {
      key: 'batch',
      label: 'Batch',
      help: '',
      group: 'Training',
      kind: 'integer',
      unit: 'tasks',
      min: 8,
      max: 256,
      step: 8,
    },
    {
      key: 'rate',
      label: 'Learning rate',
      help: '',
      group: 'Training',
      kind: 'number',
      unit: '',
      min: 0,
      max: 0.01,
      step: 0.0001,
    },
    {
      key: 'masking',
      label: 'Masking',
      help: '',
      group: 'Training',
      kind: 'choice',
      choices: [
        { value: 'agent', label: 'agent turns' },
        { value: 'all & more', label: 'all turns' },
      ],
    },
    {
      key: 'walkLength',
      label: 'Walk length',
      help: '',
      group: 'Walk',
      kind: 'integer',
      unit: 'calls',
      min: -4,
      max: 12,
      step: 1,
    },
  ],
  presets: {
    micro: { batch: 32, rate: 0.003, masking: 'agent', walkLength: 4 },
    full: { batch: 256, rate: 0.00105, masking: 'all & more', walkLength: 8 },
  },
  arms: [
    { id: 'graph', title: 'Graph walk', description: '' },
    { id: 'random', title: 'Random calls', description: '' },
    { id: 'none', title: 'No training', description: '' },
  ],
  metrics: [{ id: 'success', title: 'Success', unit: '', rate: true, higherIsBetter: true }],
};

export const OTHER: Linkable = {
  ...SAMPLE,
  id: 'other',
  title: 'Other',
  presets: { laptop: { batch: 64, rate: 0.001, masking: 'agent', walkLength: 4 } },
};

/** So many controls that no readable link holds them all. */
export const LARGE: Linkable = {
  ...SAMPLE,
  id: 'large',
  title: 'Large',
  controls: Array.from({ length: 40 }, (_, i) => ({
    key: `setting${i}`,
    label: `Setting ${i}`,
    help: '',
    group: 'All',
    kind: 'integer' as const,
    unit: '',
    min: 0,
    max: 1_000_000,
    step: 1,
  })),
  presets: { micro: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`setting${i}`, 0])) },
};

/** The LabError that `body` throws, as one line; fails where it throws nothing or something else. */
export async function refusal(body: () => unknown): Promise<string> {
  try {
    await body();
  } catch (error) {
    if (error instanceof Error && error.name === 'LabError') return String(error);
    throw error;
  }
  throw new Error('nothing was refused');
}

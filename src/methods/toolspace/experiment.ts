import { splitTasks } from '../../task/synthesis/dataset.ts';
import { replay } from '../../task/verify/replay.ts';
import { desk } from '../../world/desk/index.ts';
import type { Method } from '../method.ts';
import { controls, presets, readSettings } from './controls.ts';
import { explore } from './explore.ts';
import lesson from './README.md?raw';
import { expectedStudent, learn } from './student.ts';

/** ToolSpace over the lab's `desk` world, from traces to a trained student. */
export const toolspace: Method = {
  id: 'toolspace',
  title: 'ToolSpace',
  question:
    'Can tasks walked out of a tool graph, mined from real traces, teach a small policy to use the tools?',
  source: {
    title: 'ToolSpace: Scaling Tool-Centric Environment Synthesis for Long-Horizon Agents',
    authors: 'Dong et al.',
    date: '2026-11-03',
  },
  lesson,
  world: desk.id,
  controls,
  presets,
  arms: [
    {
      id: 'untrained',
      title: 'untrained',
      description: 'The student as it is drawn, before any step: what chance alone achieves.',
    },
    {
      id: 'trained',
      title: 'trained',
      description: 'The same student after supervised fine-tuning on replayed chains.',
    },
  ],
  metrics: [
    { id: 'success', title: 'Success on unseen tasks', unit: '', rate: true, higherIsBetter: true },
    { id: 'calls', title: 'Calls a task', unit: 'calls', rate: false, higherIsBetter: false },
    { id: 'refused', title: 'Refused calls', unit: '', rate: true, higherIsBetter: false },
    {
      id: 'malformed',
      title: 'Episodes ended by malformed tokens',
      unit: '',
      rate: true,
      higherIsBetter: false,
    },
  ],
  claims: [
    {
      id: 'TS-1',
      statement: 'Witnessed edges beat schema-plausible edges.',
      paper: 'AutomationBench 45.8 against 37.8 (35B, Table 3)',
      status: 'planned',
    },
    {
      id: 'TS-2',
      statement: 'Dropping state edges hurts stateful tasks most, dropping data edges the data-flow tasks.',
      paper: 'τ³-Bench 34.0 → 21.5; BFCL V4 74.3 → 62.4 (Table 3)',
      status: 'planned',
    },
    {
      id: 'TS-3',
      statement: 'Uniform walks and walks without rollback lose.',
      paper: '−6.2 and −4.8 points (Table 3)',
      status: 'planned',
    },
  ],
  prepare: (spec, traces) => explore(desk, spec, traces),
  verify: (tasks) => tasks.map((task) => replay(task)),
  split: (spec, passed) => splitTasks(passed, readSettings(spec)),
  student: (spec) => expectedStudent(desk, spec),
  learn: (spec, tasks, context) => learn(desk, spec, tasks, context),
};

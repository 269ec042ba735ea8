import type { ClaimSpec } from '../../methods/method.ts';
import { count } from '../words.ts';
import type { View } from './view.svelte.ts';

/** One station of the corridor: what it has come to in this run. */
export interface Station {
  id: string;
  title: string;
  /** The part of the page that shows it. */
  place: string;
  figure: string;
  state: 'waiting' | 'active' | 'done';
}

type Facts = Pick<
  View,
  | 'progress'
  | 'stage'
  | 'graph'
  | 'counts'
  | 'tasks'
  | 'judged'
  | 'passed'
  | 'dataset'
  | 'evaluations'
  | 'summary'
>;

/** The corridor from trace to claim, as far as a run has come. @param live whether the run is going on. */
export function corridor(facts: Facts, claims: readonly ClaimSpec[], live: boolean): Station[] {
  const { progress, stage, graph, counts, tasks, judged, passed, dataset, evaluations, summary } = facts;
  // A recording holds only a part of the tasks that were made and passed; all that were kept had passed.
  const kept = dataset ? dataset.train + dataset.heldOut : 0;
  const traces = graph
    ? graph.sources.reduce((sum, source) => sum + source.trajectories, 0)
    : (progress.traces?.done ?? 0);
  const learning = stage === 'train' || stage === 'evaluate';
  const state = (active: boolean, done: boolean): Station['state'] =>
    live && active ? 'active' : done ? 'done' : 'waiting';
  const figure = (n: number | undefined) => (n ? count(n) : '');
  const making = stage === 'walk' || stage === 'verify';
  const train = progress.train;
  return [
    {
      id: 'trace',
      title: 'trace',
      place: '#graph',
      figure: figure(traces),
      state: state(stage === 'traces', traces > 0 && graph !== null),
    },
    {
      id: 'graph',
      title: 'graph',
      place: '#graph',
      figure: graph ? `${count(graph.edges.length)} edges` : '',
      state: state(stage === 'graph', graph !== null),
    },
    {
      id: 'walk',
      title: 'walk',
      place: '#graph',
      figure: counts.steps ? `${count(counts.steps)} steps` : '',
      state: state(making, counts.steps > 0 && dataset !== null),
    },
    {
      id: 'task',
      title: 'task',
      place: '#tasks',
      figure: figure(Math.max(tasks.length, kept)),
      state: state(making, dataset !== null),
    },
    {
      id: 'verify',
      title: 'verify',
      place: '#tasks',
      figure: judged ? `${count(Math.max(passed, kept))} ✓` : '',
      state: state(making && judged > 0, dataset !== null),
    },
    {
      id: 'dataset',
      title: 'dataset',
      place: '#tasks',
      figure: dataset ? `${count(dataset.train)} + ${count(dataset.heldOut)}` : '',
      state: state(false, dataset !== null),
    },
    {
      id: 'policy',
      title: 'policy',
      place: '#training',
      figure: train ? `${count(train.done)}/${count(train.total)}` : '',
      state: state(learning, summary !== null),
    },
    {
      id: 'claim',
      title: 'claim',
      place: '#claims',
      figure: `${claims.filter((claim) => claim.status === 'testable').length} of ${claims.length}`,
      state: state(
        false,
        summary !== null && evaluations.length > 0 && claims.some((claim) => claim.status === 'testable'),
      ),
    },
  ];
}

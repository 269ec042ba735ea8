import type { Language } from '../world/language.ts';
import type { EpisodeRecord, EpisodeTurn } from './rollout.ts';

/** One turn of an episode, to be read. */
export interface ReadableTurn {
  tokens: string[];
  action: string;
  observation: string;
}

/** One episode of a policy, to be read. */
export interface Episode {
  task: string;
  text: string;
  passed: boolean;
  failures: string[];
  turns: ReadableTurn[];
}

/** An episode in words: its tokens as they are spelled, its actions as `tool {arguments}`, its results as JSON. */
export function describeEpisode({ task, turns, verdict }: EpisodeRecord, language: Language): Episode {
  return {
    task: task.id,
    text: task.text,
    passed: verdict.passed,
    failures: verdict.failures,
    turns: turns.map((turn) => describeTurn(turn, language)),
  };
}

/** One turn in words. What was no action stands in brackets, with the reason. */
export function describeTurn(
  { tokens, action, malformed, observation }: EpisodeTurn,
  { vocabulary }: Language,
): ReadableTurn {
  return {
    tokens: tokens.map((id) => vocabulary[id] ?? '?'),
    action: action ? describeAction(action) : `(${malformed})`,
    observation: observation ? JSON.stringify(observation.ok ? observation.value : observation.error) : '',
  };
}

function describeAction(action: NonNullable<EpisodeTurn['action']>): string {
  if (action.kind === 'done')
    return action.answers.length ? `done: ${JSON.stringify(action.answers)}` : 'done';
  return `${action.tool} ${JSON.stringify(action.args)}`;
}

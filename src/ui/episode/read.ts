import type { Episode } from '../../methods/method.ts';

/** An action as it is shown: the tool (or `done`), and its arguments one by one. */
export interface ShownAction {
  tool: string;
  args: [string, string][];
  /** What follows the tool where it is no list of arguments: an answer, or why the tokens were no action. */
  rest: string;
}

/** Takes an episode's action text apart: `tool {json}`, `done: [json]`, `(what was wrong)`. */
export function readAction(action: string): ShownAction {
  const match = /^(\S+?):?\s+(\{[\s\S]*\}|\[[\s\S]*\])$/.exec(action);
  if (!match)
    return /^\(/.test(action)
      ? { tool: '', args: [], rest: action.slice(1, -1) }
      : { tool: action, args: [], rest: '' };
  const [, tool = '', json = ''] = match;
  try {
    const value: unknown = JSON.parse(json);
    if (Array.isArray(value))
      return {
        tool,
        args: [],
        rest: value.map((item) => (typeof item === 'string' ? item : JSON.stringify(item))).join(', '),
      };
    return {
      tool,
      args: Object.entries(value as object).map(([name, arg]) => [
        name,
        typeof arg === 'string' ? arg : JSON.stringify(arg),
      ]),
      rest: '',
    };
  } catch {
    return { tool: '', args: [], rest: action };
  }
}

/** The episode to show first: the same task as on the other side where there is one, else a success, else any. */
export function pickEpisode(episodes: readonly Episode[], task: string | null): number {
  const same = episodes.findIndex((episode) => episode.task === task);
  if (same >= 0) return same;
  return Math.max(
    0,
    episodes.findIndex((episode) => episode.passed),
  );
}

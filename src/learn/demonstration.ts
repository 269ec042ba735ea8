import type { TrainingSequence } from '../policy/batch.ts';
import type { Task } from '../task/model.ts';
import type { Language } from '../world/language.ts';

/**
 * A task's reference chain as a training sequence: `request (action observation)* done`. Supervised are the tokens that
 * the agent says (weight 1); the request and what the world answered are context (weight 0).
 * `weights[i]` is the weight of predicting `tokens[i + 1]`, so it is the mask of the token that follows.
 */
export function demonstration(task: Task, language: Language): TrainingSequence {
  const tokens: number[] = [];
  const said: boolean[] = [];
  const append = (ids: readonly number[], agent: boolean) => {
    for (const id of ids) {
      tokens.push(id);
      said.push(agent);
    }
  };
  append(language.encodeRequest(task.request), false);
  for (const call of task.chain) {
    append(language.encodeAction({ kind: 'call', tool: call.tool, args: call.args }), true);
    append(language.encodeObservation(call.tool, call.observation), false);
  }
  const answers = task.assertions.out.map((assertion) => assertion.value);
  append(language.encodeAction({ kind: 'done', answers }), true);
  return { tokens, weights: tokens.map((_, i) => (said[i + 1] ? 1 : 0)) };
}

import { hashHex } from '../../base/hash.ts';
import { canonicalJson, type Json } from '../../base/json.ts';
import type { Ref, Request } from '../../world/request.ts';
import type { Task } from '../model.ts';

/** What a task is, whatever seed it came from: two tasks with equal content are one task. */
export function taskId(task: Pick<Task, 'world' | 'request' | 'chain' | 'assertions'>): string {
  const chain = task.chain.map(({ tool, args, observation }) => ({ tool, args, observation }));
  const content = { world: task.world, request: task.request, chain, assertions: task.assertions };
  return hashHex(canonicalJson(content as unknown as Json));
}

/**
 * The form of a request without its identifiers: intents, paths and descriptions' fields, with roots numbered in order of
 * appearance, as `send_mail(ticket=#1, to=#1.owner.email); close_ticket(ticket=#1)`.
 */
export function requestShape(request: Request): string {
  const numbers = new Map<string, number>();
  const describe = ({ root, path }: Ref): string => {
    const key = canonicalJson(root as Json);
    const number = numbers.get(key) ?? numbers.size + 1;
    numbers.set(key, number);
    const fields = 'id' in root ? '' : `${root.the}[${Object.keys(root.where).sort().join(',')}]`;
    return [`${fields}#${number}`, ...path].join('.');
  };
  return request.goals
    .map((goal) => {
      if (goal.kind === 'tell') return `tell(${describe(goal.what)})`;
      const names = Object.keys(goal.args).sort();
      return `${goal.intent}(${names.map((name) => `${name}=${describe(goal.args[name] as Ref)}`).join(', ')})`;
    })
    .join('; ');
}

import { canonicalJson, type Json } from '../../../src/base/json.ts';
import type { ChainCall, Task } from '../../../src/task/model.ts';

/** A task whose chain was tampered with, and how. */
export interface Mutant {
  how: string;
  task: Task;
}

const sameCall = (a: ChainCall, b: ChainCall) =>
  a.tool === b.tool && canonicalJson(a.args) === canonicalJson(b.args);

/** A different value of the same type: another one of the pool where there is one, else one that nobody has. */
function others(value: Json, pool: readonly Json[]): Json[] {
  const different = pool.filter((other) => typeof other === typeof value && other !== value);
  const strange =
    typeof value === 'number' ? value + 1 : typeof value === 'boolean' ? !value : `${String(value)}x`;
  return [...different, strange];
}

/**
 * Every chain that comes of dropping one call (as it stands, and with later origins moved along), of changing one
 * argument to any other value of the task, and of swapping two different calls.
 */
export function* mutants(task: Task): Generator<Mutant> {
  const { chain } = task;
  const made = (how: string, calls: ChainCall[]): Mutant => ({ how, task: { ...task, chain: calls } });
  const values = chain.flatMap(({ args }) => Object.values(args));
  for (const [i, call] of chain.entries()) {
    const rest = chain.filter((_, at) => at !== i);
    yield made(`without call ${i}`, rest);
    yield made(
      `without call ${i}, the others moved up`,
      rest.map((other) => ({ ...other, provenance: shifted(other, i) })),
    );
    for (const [name, value] of Object.entries(call.args)) {
      for (const other of others(value, values)) {
        const changed = { ...call, args: { ...call.args, [name]: other } };
        yield made(
          `${name} of call ${i} is ${String(other)}`,
          chain.map((one, at) => (at === i ? changed : one)),
        );
      }
      const { [name]: _, ...fewer } = call.args;
      yield made(
        `${name} of call ${i} is missing`,
        chain.map((one, at) => (at === i ? { ...call, args: fewer } : one)),
      );
    }
    for (let j = i + 1; j < chain.length; j++) {
      const other = chain[j] as ChainCall;
      if (sameCall(call, other)) continue;
      yield made(
        `calls ${i} and ${j} swapped`,
        chain.map((one, at) => (at === i ? other : at === j ? call : one)),
      );
    }
  }
}

function shifted(call: ChainCall, dropped: number): ChainCall['provenance'] {
  return Object.fromEntries(
    Object.entries(call.provenance).map(([name, origin]) => [
      name,
      origin.from === 'observation' && origin.call > dropped ? { ...origin, call: origin.call - 1 } : origin,
    ]),
  );
}

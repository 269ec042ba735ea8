import { LabError } from '../base/errors.ts';
import { checkSpec, parseSetting } from '../lab/config.ts';
import { methods } from '../methods/index.ts';
import type { Method, RunSpec } from '../methods/method.ts';
import { type Option, type Parsed, suggest, UsageError } from './usage.ts';

/** Options that choose what to run; `run` and `link` share them. */
export const SPEC_OPTIONS: Option[] = [
  { name: 'arms', value: 'a,b', help: 'only these arms' },
  { name: 'preset', value: 'P', help: 'micro or laptop (default micro)' },
  { name: 'seeds', value: '1,2', help: 'one run a seed (default 1)' },
  {
    name: 'set',
    value: 'key=value',
    repeatable: true,
    help: 'change one value of the preset; once for each value',
  },
];

/** The experiment that a command line names: one spec a seed. @throws UsageError where a name or value is none that there is. */
export function chooseSpecs(input: Parsed): { method: Method; specs: RunSpec[] } {
  const id = input.operands[0] ?? '';
  const method = methods.find((one) => one.id === id);
  if (!method) {
    const known = methods.map((one) => one.id);
    throw new UsageError(`There is no method "${id}". ${suggest(id, known)}`);
  }
  const seeds = (input.get('seeds') ?? '1').split(',').map((seed) => seed.trim());
  try {
    const settings = input.all('set').map(parseSetting);
    const given = {
      preset: input.get('preset') ?? 'micro',
      config: Object.fromEntries(settings.map(({ key, value }) => [key, value])),
      arms: input.get('arms')?.split(',') ?? [],
    };
    return { method, specs: [...new Set(seeds)].map((seed) => checkSpec(method, { ...given, seed })) };
  } catch (error) {
    if (error instanceof LabError) throw new UsageError(error.toString());
    throw error;
  }
}

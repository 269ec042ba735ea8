import { LabError } from '../../base/errors.ts';
import { guessEffect } from '../../trace/effect.ts';
import type { Call, Effect, ToolSpec } from '../../trace/model.ts';

/**
 * When a value is too common to show that it flowed. Applied to a value in one argument, once it stands there in at
 * least `support` trajectories; below that there is too little to tell.
 */
export interface CommonTest {
  /** Trajectories. */
  support: number;
  /**
   * Stands in more than this share of the trajectories that set the argument, and is no identifier anywhere in the corpus (all
   * tasks may be about one customer): a constant of the argument.
   */
  share: number;
  /** Was shown by the output before in less than this share of its uses: chosen by the caller, and met by chance. */
  traced: number;
  /**
   * No identifier, and shown by the outputs of the tool before less than `lift` times as often as they hold it anyway: met
   * by chance.
   */
  lift: number;
}

export interface MinerOptions {
  /** What a call does. Default: the tool's declaration, else its verb (`src/trace/effect.ts`). */
  effectOf?: (call: Call, spec: ToolSpec | undefined) => Effect;
  /** Edges with fewer pairs are cut. Default 2. */
  minCount?: number;
  /** Most witnesses kept an edge: those with the smallest hash. Default 16. */
  witnesses?: number;
  /** Shortest string that can be evidence of a data edge. Default 4. */
  shortest?: number;
  /** Values that stand inside free text: not looked for, counted apart (default), or taken as data edges. */
  loose?: 'off' | 'count' | 'edges';
  /** Whose calls are mined. Default both; each caller's calls are a sequence of their own. */
  callers?: readonly Call['caller'][];
  /** Most values of an argument that is enumerated. Default 10. */
  maxEnumerated?: number;
  common?: Partial<CommonTest>;
}

/** Upper bound of `maxEnumerated`. */
export const MOST_ENUMERATED = 1000;

/** Options with every default filled in. */
export type FilledOptions = Required<Omit<MinerOptions, 'common'>> & { common: CommonTest };

/** Fills in defaults. @throws LabError on a number outside its range. */
export function fillOptions(options: MinerOptions): FilledOptions {
  const filled: FilledOptions = {
    effectOf: options.effectOf ?? rememberedGuess(),
    minCount: options.minCount ?? 2,
    witnesses: options.witnesses ?? 16,
    shortest: options.shortest ?? 4,
    loose: options.loose ?? 'count',
    callers: options.callers ?? ['agent', 'user'],
    maxEnumerated: options.maxEnumerated ?? 10,
    common: { support: 10, share: 0.8, traced: 0.1, lift: 1.5, ...options.common },
  };
  for (const name of ['minCount', 'witnesses', 'shortest', 'maxEnumerated'] as const) {
    if (!(filled[name] >= 1)) throw unfit(name, filled[name], 'a number of at least 1');
  }
  if (filled.maxEnumerated > MOST_ENUMERATED)
    throw unfit('maxEnumerated', filled.maxEnumerated, 'at most 1000');
  const { support, share, traced, lift } = filled.common;
  if (!(support >= 1)) throw unfit('common.support', support, 'a number of trajectories, at least 1');
  if (!(share >= 0 && share <= 1)) throw unfit('common.share', share, 'a share between 0 and 1');
  if (!(traced >= 0 && traced <= 1)) throw unfit('common.traced', traced, 'a share between 0 and 1');
  if (!(lift >= 0)) throw unfit('common.lift', lift, 'a number of at least 0');
  return filled;
}

function unfit(name: string, value: number, remedy: string): LabError {
  return new LabError(`${name} is ${value}`, { where: 'mining options', remedy: `give ${remedy}` });
}

/** `guessEffect`, worked out once for each tool that declares nothing. */
function rememberedGuess(): (call: Call, spec: ToolSpec | undefined) => Effect {
  const guesses = new Map<string, Effect>();
  return ({ tool }, spec) => {
    if (spec?.effect) return spec.effect;
    let effect = guesses.get(tool);
    if (!effect) {
      effect = guessEffect(tool);
      guesses.set(tool, effect);
    }
    return effect;
  };
}

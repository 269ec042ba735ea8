import { LabError } from '../base/errors.ts';
import type { Arm, Config, ConfigValue, Control, Method, PresetId, RunSpec } from '../methods/method.ts';
import { nearestWord, quoted } from './words.ts';

/** What of a method decides which configurations are valid. */
export type Configurable = Pick<Method, 'id' | 'title' | 'controls' | 'presets' | 'arms'>;

export const PRESETS: readonly PresetId[] = ['micro', 'laptop', 'full'];

/** Seeds are unsigned 32-bit whole numbers, as the counter-based generator of the kernels takes them. */
export const MAX_SEED = 4294967295;

const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype']);
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i;

/**
 * The full configuration: the preset with `changes` laid over it, every value checked against its control. Values that
 * come as text (links, command line) are read as numbers where the control is one.
 * @throws LabError that names the control, the value and what is allowed; for an unknown key, the nearest known one.
 */
export function normaliseConfig(
  method: Configurable,
  preset: PresetId,
  changes: Readonly<Record<string, unknown>>,
): Config {
  const base = presetOf(method, preset);
  const known = method.controls.map((control) => control.key);
  for (const key of Object.keys(changes)) refuseUnknown(method, key, known);
  const config: Config = {};
  for (const control of method.controls) {
    const given = Object.hasOwn(changes, control.key) ? changes[control.key] : base[control.key];
    config[control.key] = checkValue(control, given, base[control.key]);
  }
  return config;
}

/** The settings in which `config` differs from the preset, in the order of the controls. */
export function configDiff(method: Configurable, preset: PresetId, config: Readonly<Config>): Config {
  const base = presetOf(method, preset);
  const full = normaliseConfig(method, preset, config);
  return Object.fromEntries(Object.entries(full).filter(([key, value]) => value !== base[key]));
}

/**
 * Reads the command line's `--set key=value`. The value stays text: the control decides later what it is.
 * @throws LabError where there is no `=`, or nothing on one side of it.
 */
export function parseSetting(text: string): { key: string; value: string } {
  const at = text.indexOf('=');
  const key = text.slice(0, at).trim();
  const value = text.slice(at + 1).trim();
  if (at < 0 || key === '' || value === '') {
    throw new LabError(`${quoted(text)} is not a setting`, {
      where: '--set',
      remedy: 'Write key=value, as steps=300.',
    });
  }
  if (FORBIDDEN.has(key)) throw forbidden(key);
  return { key, value };
}

/**
 * What changes from one run to the next, in one sentence without a full stop: "Batch 32 → 64, seed 1 → 2".
 * "no change" where nothing differs. Both specs must be of `method` and complete.
 */
export function describeDiff(method: Configurable, before: RunSpec, after: RunSpec): string {
  const parts: string[] = [];
  if (before.preset !== after.preset) parts.push(`preset ${before.preset} → ${after.preset}`);
  for (const control of method.controls) {
    const [old, now] = [before.config[control.key], after.config[control.key]];
    if (old === now) continue;
    const unit = control.kind !== 'choice' && control.unit ? ` ${control.unit}` : '';
    parts.push(`${control.label} ${shown(control, old)} → ${shown(control, now)}${unit}`);
  }
  const title = (id: string) => method.arms.find((arm) => arm.id === id)?.title ?? id;
  const added = after.arms.filter((arm) => !before.arms.includes(arm)).map(title);
  const dropped = before.arms.filter((arm) => !after.arms.includes(arm)).map(title);
  if (added.length > 0) parts.push(`with ${added.join(' and ')}`);
  if (dropped.length > 0) parts.push(`without ${dropped.join(' and ')}`);
  if (before.seed !== after.seed) parts.push(`seed ${before.seed} → ${after.seed}`);
  return parts.length === 0 ? 'no change' : parts.join(', ');
}

/**
 * A run specification from outside, checked as a whole: preset, configuration, arms, seed. Arms come out in the
 * method's order; an empty list means all of them.
 * @throws LabError on anything that the method does not know or that is out of bounds.
 */
export function checkSpec(
  method: Configurable,
  given: {
    preset: string;
    config: Readonly<Record<string, unknown>>;
    arms: readonly string[];
    seed: unknown;
  },
): RunSpec {
  const preset = checkPreset(method, given.preset);
  return {
    method: method.id,
    preset,
    config: normaliseConfig(method, preset, given.config),
    arms: checkArms(method, given.arms),
    seed: checkSeed(given.seed),
  };
}

/** A preset that `method` has. @throws LabError with the nearest one. */
export function checkPreset(method: Configurable, preset: string): PresetId {
  const known = PRESETS.filter((id) => method.presets[id] !== undefined);
  const found = known.find((id) => id === preset);
  if (found) return found;
  throw new LabError(`${method.title} has no preset ${quoted(preset)}`, {
    where: 'preset',
    remedy: `${suggest(preset, known)}Presets: ${known.join(', ')}.`,
  });
}

/** Arms of `method`, in its order; all of them for an empty list. @throws LabError on unknown or repeated ones. */
export function checkArms(
  method: { title: string; arms: readonly Arm[] },
  arms: readonly string[],
): string[] {
  const known = method.arms.map((arm) => arm.id);
  if (arms.length === 0) return known;
  for (const [i, arm] of arms.entries()) {
    if (!known.includes(arm)) {
      throw new LabError(`${method.title} has no arm ${quoted(arm)}`, {
        where: 'arms',
        remedy: `${suggest(arm, known)}Arms: ${known.join(', ')}.`,
      });
    }
    if (arms.indexOf(arm) !== i) {
      throw new LabError(`The arm ${quoted(arm)} is named twice`, {
        where: 'arms',
        remedy: 'Name each arm once.',
      });
    }
  }
  return known.filter((arm) => arms.includes(arm));
}

/** A seed, given as a number or as its decimal digits. @throws LabError outside 0 … 4294967295. */
export function checkSeed(seed: unknown): number {
  const value = typeof seed === 'string' && /^\d{1,10}$/.test(seed) ? Number(seed) : seed;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_SEED)
    return value + 0;
  throw new LabError(`The seed ${quoted(seed)} is not allowed`, {
    where: 'seed',
    remedy: `Give a whole number from 0 to ${MAX_SEED}.`,
  });
}

/**
 * One value held against its control. Steps count from the lower bound or from zero; the preset's own value and the
 * upper bound are always on the grid.
 * @throws LabError that names the control, the value and what is allowed.
 */
export function checkValue(control: Control, given: unknown, preset?: ConfigValue): ConfigValue {
  if (control.kind === 'choice') {
    const values = control.choices.map((choice) => choice.value);
    if (typeof given === 'string' && values.includes(given)) return given;
    const hint = typeof given === 'string' ? suggest(given, values) : '';
    throw refused(control, given, `${hint}Choose one of ${values.join(', ')}.`);
  }
  const value = typeof given === 'string' && given.length <= 40 && NUMBER.test(given) ? Number(given) : given;
  const unit = control.unit ? ` ${control.unit}` : '';
  const range = `from ${control.min} to ${control.max}${unit} in steps of ${control.step}`;
  const what = control.kind === 'integer' ? 'a whole number' : 'a number';
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw refused(control, given, `Give ${what} ${range}.`);
  if (control.kind === 'integer' && !Number.isInteger(value))
    throw refused(control, given, `Give ${what} ${range}.`);
  if (value < control.min || value > control.max) throw refused(control, given, `Give ${what} ${range}.`);
  if (value !== preset && value !== control.max && !onGrid(value, control.min, control.step)) {
    const below = control.min + Math.floor((value - control.min) / control.step) * control.step;
    const above = Math.min(control.max, below + control.step);
    const near = `${tidy(below)} or ${tidy(above)}`;
    throw refused(control, given, `Give ${what} ${range}; the nearest are ${near}.`);
  }
  return value + 0; // −0 becomes 0: the two would be written alike and compare unlike.
}

function presetOf(method: Configurable, preset: PresetId): Config {
  const base = method.presets[checkPreset(method, preset)]!;
  for (const control of method.controls) {
    if (!Object.hasOwn(base, control.key)) {
      throw new LabError(`The preset ${preset} of ${method.title} sets no value for ${control.label}`, {
        where: control.key,
        remedy: 'Add the value to the preset: every preset sets every control.',
      });
    }
  }
  return base;
}

function refuseUnknown(method: Configurable, key: string, known: readonly string[]): void {
  if (FORBIDDEN.has(key)) throw forbidden(key);
  if (known.includes(key)) return;
  throw new LabError(`${method.title} has no setting ${quoted(key)}`, {
    where: quoted(key),
    remedy: `${suggest(key, known)}Settings: ${known.join(', ')}.`,
  });
}

function forbidden(key: string): LabError {
  return new LabError(`${quoted(key)} is not allowed as the name of a setting`, { remedy: 'Leave it out.' });
}

function refused(control: Control, value: unknown, remedy: string): LabError {
  return new LabError(`${control.label}: ${quoted(value)} is not allowed`, { where: control.key, remedy });
}

function suggest(word: string, known: readonly string[]): string {
  const near = nearestWord(word, known);
  return near === null ? '' : `Did you mean ${near}? `;
}

function onGrid(value: number, min: number, step: number): boolean {
  if (!(step > 0)) return true;
  return [min, 0].some((from) => {
    const steps = (value - from) / step;
    return Math.abs(steps - Math.round(steps)) <= 1e-9 * Math.max(1, Math.abs(steps));
  });
}

/** Nine digits are enough to tell two grid points apart and hide binary dust such as 0.30000000000000004. */
function tidy(value: number): number {
  return Number(value.toPrecision(9));
}

function shown(control: Control, value: ConfigValue | undefined): string {
  if (control.kind !== 'choice') return String(value);
  return control.choices.find((choice) => choice.value === value)?.label ?? String(value);
}

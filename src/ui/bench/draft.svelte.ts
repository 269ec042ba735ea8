import { checkArms, checkSeed, checkValue, normaliseConfig, PRESETS } from '../../lab/config.ts';
import type { Config, Method, PresetId, RunSpec } from '../../methods/method.ts';
import { sentence } from '../words.ts';

/** The configuration on the bench: what the next run will be. Only checked values enter it; refused ones say why. */
export class Draft {
  readonly method: Method;
  preset = $state<PresetId>('micro');
  config = $state.raw<Config>({});
  seed = $state(1);
  arms = $state.raw<string[]>([]);
  /** Why an entry was refused, by control; `seed` and `arms` count as controls. */
  errors = $state.raw<Record<string, string>>({});
  readonly presets: PresetId[];

  constructor(method: Method) {
    this.method = method;
    this.presets = PRESETS.filter((id) => method.presets[id]);
    this.arms = method.arms.map((arm) => arm.id);
    this.choosePreset(this.presets[0] ?? 'micro');
  }

  get spec(): RunSpec {
    const { preset, config, arms, seed } = this;
    return { method: this.method.id, preset, config: { ...config }, arms: [...arms], seed };
  }

  get valid(): boolean {
    return Object.keys(this.errors).length === 0;
  }

  choosePreset(preset: PresetId): void {
    this.config = normaliseConfig(this.method, preset, {});
    this.preset = preset;
    this.errors = {};
  }

  /** Takes what was typed into a control. */
  set(key: string, text: string): void {
    const control = this.method.controls.find((one) => one.key === key);
    if (!control) return;
    this.#try(key, () => {
      this.config = {
        ...this.config,
        [key]: checkValue(control, text, this.method.presets[this.preset]?.[key]),
      };
    });
  }

  setSeed(text: string): void {
    this.#try('seed', () => {
      this.seed = checkSeed(text);
    });
  }

  toggleArm(arm: string): void {
    const arms = this.arms.includes(arm) ? this.arms.filter((one) => one !== arm) : [...this.arms, arm];
    if (arms.length > 0) this.arms = checkArms(this.method, arms);
  }

  /** Takes over a whole configuration, as a link or a stored run gives it. */
  load({ preset, config, arms, seed }: RunSpec): void {
    this.config = normaliseConfig(this.method, preset, config);
    this.preset = preset;
    this.arms = checkArms(this.method, arms);
    this.seed = seed;
    this.errors = {};
  }

  #try(key: string, change: () => void): void {
    const { [key]: _, ...others } = this.errors;
    try {
      change();
      this.errors = others;
    } catch (error) {
      this.errors = { ...others, [key]: sentence(error) };
    }
  }
}

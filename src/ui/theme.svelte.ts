export type ThemeChoice = 'auto' | 'light' | 'dark';

const KEY = 'rollout-lab/theme';
const CHOICES: readonly ThemeChoice[] = ['auto', 'light', 'dark'];

function stored(): ThemeChoice {
  try {
    const value = localStorage.getItem(KEY);
    return CHOICES.find((choice) => choice === value) ?? 'auto';
  } catch {
    return 'auto';
  }
}

/** Light, dark, or as the system says. Kept for the next visit where the browser allows it. */
export class Theme {
  choice = $state<ThemeChoice>(stored());

  constructor() {
    this.#apply();
  }

  next(): void {
    this.choice = CHOICES[(CHOICES.indexOf(this.choice) + 1) % CHOICES.length] ?? 'auto';
    this.#apply();
    try {
      localStorage.setItem(KEY, this.choice);
    } catch {
      // A browser that keeps nothing forgets the choice too.
    }
  }

  #apply(): void {
    if (this.choice === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.choice;
  }
}

import type { Dash, Marker } from './model.ts';

export interface ThemeColours {
  background: string;
  ink: string;
  soft: string;
  rule: string;
  /** Colours of arms, at least 3:1 against the background. */
  arms: readonly string[];
}

/**
 * Colours from the Okabe–Ito set (Okabe & Ito 2008): blue or sky blue, vermilion, bluish green, reddish purple, orange,
 * black. Where a colour of the set falls below 3:1 on the light page (purple, orange) it is darkened at the same hue.
 */
export const CHART_THEMES: Record<'light' | 'dark', ThemeColours> = {
  light: {
    background: '#ffffff',
    ink: '#1f1d1a',
    soft: '#5c574e',
    rule: '#dcd7ca',
    arms: ['#0072b2', '#d55e00', '#009e73', '#c56f9f', '#a87400', '#000000'],
  },
  dark: {
    background: '#16171a',
    ink: '#e8e6e1',
    soft: '#a9aeb6',
    rule: '#363a41',
    arms: ['#56b4e9', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#ffffff'],
  },
};

const DASHES: readonly Dash[] = ['solid', 'dashed', 'dotted', 'dashdot', 'long'];
const MARKERS: readonly Marker[] = ['circle', 'square', 'triangle', 'diamond', 'cross'];
const COLOURS = CHART_THEMES.light.arms.length;

/** How arm number `index` is drawn on every chart: colour, dash and marker all differ between the first thirty arms. */
export function armStyle(index: number): { color: number; dash: Dash; marker: Marker } {
  return {
    color: index % COLOURS,
    dash: DASHES[index % DASHES.length]!,
    marker: MARKERS[index % MARKERS.length]!,
  };
}

/** Name of the CSS custom property that holds an arm's colour on the page: `--arm-0` … */
export function armVariable(color: number): string {
  return `--arm-${armIndex(color)}`;
}

/** A colour index brought into the range of the colours. */
export function armIndex(color: number): number {
  const whole = Number.isInteger(color) ? color : 0;
  return ((whole % COLOURS) + COLOURS) % COLOURS;
}

/** Contrast of two hex colours, 1 to 21 (WCAG 2.2, relative luminance). */
export function contrast(a: string, b: string): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((p, q) => p - q) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

import type { GraphLayout, Point } from '../../../workers/layout.ts';

const round = (x: number) => Math.round(x * 10) / 10;

/** A smooth path through the bends of an edge: quadratic pieces that meet half-way between two bends. */
export function smoothPath(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const last = rest.pop();
  if (!first || !last) return '';
  const parts = [`M${round(first.x)} ${round(first.y)}`];
  for (const [i, bend] of rest.entries()) {
    const next = rest[i + 1];
    const end = next ? { x: (bend.x + next.x) / 2, y: (bend.y + next.y) / 2 } : last;
    parts.push(`Q${round(bend.x)} ${round(bend.y)} ${round(end.x)} ${round(end.y)}`);
  }
  if (rest.length === 0) parts.push(`L${round(last.x)} ${round(last.y)}`);
  return parts.join('');
}

/** Indices of the layout's nodes in reading order: from the top, then from the left. */
export function readingOrder(layout: GraphLayout): number[] {
  return [...layout.nodes].sort((a, b) => a.y - b.y || a.x - b.x).map((node) => node.index);
}

/** A label cut to `most` letters. */
export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Width in pixels that a graph's picture has on this page: that of the stage, and never less than can be read. */
export function pictureRoom(): number {
  return Math.max(480, document.getElementById('stage')?.clientWidth ?? 0);
}

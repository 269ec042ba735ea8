type Point = [x: number, y: number];

/** Beyond this, sums and differences of coordinates could overflow. */
const LARGEST = 1e150;

export function isDrawable(value: number): boolean {
  return Number.isFinite(value) && Math.abs(value) <= LARGEST;
}

/**
 * Sorts points by x (equal x in the order given), leaves out those that cannot be drawn, and cuts the line where one was
 * left out, so that a gap is seen as a gap.
 */
export function cleanPoints(points: readonly Point[]): { segments: Point[][]; omitted: number } {
  const placed = points.filter(([x]) => isDrawable(x)).sort((a, b) => a[0] - b[0]);
  const segments: Point[][] = [];
  let current: Point[] = [];
  let drawn = 0;
  for (const [x, y] of placed) {
    if (isDrawable(y)) {
      current.push([x, y]);
      drawn++;
    } else if (current.length > 0) {
      segments.push(current);
      current = [];
    }
  }
  if (current.length > 0) segments.push(current);
  return { segments, omitted: points.length - drawn };
}

/**
 * Thins points to what can be seen: of each pixel column the first, lowest, highest and last one (M4, Jugel et al. 2014),
 * which draws the same line. Points must be sorted by x.
 */
export function decimate(points: readonly Point[], toPixel: (x: number) => number): Point[] {
  const out: Point[] = [];
  for (let from = 0; from < points.length; ) {
    const column = Math.floor(toPixel(points[from]![0]));
    let to = from + 1;
    while (to < points.length && Math.floor(toPixel(points[to]![0])) === column) to++;
    if (to - from <= 4) for (let i = from; i < to; i++) out.push(points[i]!);
    else {
      let low = from;
      let high = from;
      for (let i = from; i < to; i++) {
        if (points[i]![1] < points[low]![1]) low = i;
        if (points[i]![1] > points[high]![1]) high = i;
      }
      for (const i of [...new Set([from, low, high, to - 1])].sort((a, b) => a - b)) out.push(points[i]!);
    }
    from = to;
  }
  return out;
}

/** At most `most` of the points, evenly spread by index, the last one always among them. */
export function spread<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items];
  return Array.from({ length: most }, (_, i) => items[Math.round((i * (items.length - 1)) / (most - 1))]!);
}

/**
 * Moves labels apart: as near to where they want to be as their order, the gap and the bounds allow. Where there is no
 * room for all, they are spread evenly. Returns positions in the order given.
 */
export function placeLabels(wanted: readonly number[], gap: number, from: number, to: number): number[] {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a]! - wanted[b]!);
  const step = wanted.length > 1 ? Math.min(gap, (to - from) / (wanted.length - 1)) : 0;
  const out = new Array<number>(wanted.length);
  let next = from;
  for (const i of order) {
    out[i] = Math.max(wanted[i]!, next);
    next = out[i]! + step;
  }
  let last = to;
  for (const i of order.reverse()) {
    out[i] = Math.min(out[i]!, last);
    last = out[i]! - step;
  }
  return out;
}

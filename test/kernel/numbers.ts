import type { Rng } from '../../src/base/rng.ts';

/** N(0, 1)-like numbers that float32 holds exactly. */
export function reals(rng: Rng, count: number, scale = 1): Float32Array {
  return Float32Array.from(
    { length: count },
    () => scale * (rng.float() + rng.float() + rng.float() - 1.5) * 2,
  );
}

/** An output that shows any entry a kernel forgets to write. */
export const poison = (count: number): Float32Array => new Float32Array(count).fill(Number.NaN);

/** ‖out − ref‖ / ‖ref‖; 0 where both are empty or zero, NaN where either holds one. @throws Error on unequal lengths. */
export function relativeError(out: ArrayLike<number>, reference: ArrayLike<number>): number {
  if (out.length !== reference.length)
    throw new Error(`${out.length} values where the reference has ${reference.length}`);
  let difference = 0;
  let size = 0;
  for (let i = 0; i < out.length; i++) {
    difference += (out[i]! - reference[i]!) ** 2;
    size += reference[i]! ** 2;
  }
  if (difference === 0) return 0;
  return Math.sqrt(difference / size);
}

/** Root mean square; 0 where there is nothing. */
export function rms(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]! ** 2;
  return values.length === 0 ? 0 : Math.sqrt(sum / values.length);
}

/**
 * Draws until what was made is sound: not so small by cancellation that a relative error says nothing of the kernel.
 * @throws Error where 100 draws are not.
 */
export function drawUntil<T>(rng: Rng, make: (rng: Rng) => T, sound: (made: T) => boolean): T {
  for (let i = 0; i < 100; i++) {
    const made = make(rng);
    if (sound(made)) return made;
  }
  throw new Error('no sound inputs in 100 draws');
}

/** The whole numbers whose bits a run gave. */
export const words = (values: Float32Array): Uint32Array =>
  new Uint32Array(values.buffer, values.byteOffset, values.length);

/** Bits of real numbers, for a uniform. */
export const bitsOf = (...values: number[]): number[] => [
  ...new Uint32Array(Float32Array.from(values).buffer),
];

/** Sequences of ragged lengths that fill n positions: their starts, exclusive ends and positions. */
export function ragged(rng: Rng, n: number): Record<'starts' | 'ends' | 'positions', Uint32Array> {
  const starts = new Uint32Array(n);
  const ends = new Uint32Array(n);
  for (let at = 0; at < n; ) {
    const end = Math.min(n, at + 1 + rng.int(23));
    starts.fill(at, at, end);
    ends.fill(end, at, end);
    at = end;
  }
  return { starts, ends, positions: starts.map((start, i) => i - start) };
}

/** Where a partial gradient stands: `slices` parts, one every `stride` elements. */
export interface Slices {
  slices: number;
  stride: number;
}

/** The first `count` elements of each slice, one slice after another. */
export const partsOf = (partials: Float32Array, { slices, stride }: Slices, count: number): Float32Array =>
  Float32Array.from(
    { length: slices * count },
    (_, i) => partials[Math.floor(i / count) * stride + (i % count)]!,
  );

/** Rows of a slice, as the engine deals them. */
export const chunkOf = (n: number, slices: number): number => Math.ceil(n / slices / 4) * 4;

/** Rows of an [n, m] array spread to a stride that is a multiple of 4, the excess `fill`. */
export function widen(values: Float32Array, n: number, m: number, fill: number): Float32Array {
  const stride = Math.ceil(m / 4) * 4;
  const out = new Float32Array(n * stride).fill(fill);
  for (let row = 0; row < n; row++) out.set(values.subarray(row * m, row * m + m), row * stride);
  return out;
}

/** The first m columns of rows of a stride that is a multiple of 4. */
export function narrow(values: Float32Array, n: number, m: number): Float32Array {
  const stride = Math.ceil(m / 4) * 4;
  const out = new Float32Array(n * m);
  for (let row = 0; row < n; row++) out.set(values.subarray(row * stride, row * stride + m), row * m);
  return out;
}

/** 0 … count − 1. */
export const range = (count: number): number[] => [...Array(count).keys()];

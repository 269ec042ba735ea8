/**
 * Counter-based random bits: 32 bits that depend on (seed, rollout, position) alone, so that a rollout does not depend
 * on the batch it is decoded in. All arithmetic is modulo 2³², so that WGSL gives the same bits:
 *
 *     v = vec3u(seed, rollout, position) * 1664525u + 1013904223u;
 *     v.x += v.y*v.z;  v.y += v.z*v.x;  v.z += v.x*v.y;
 *     v ^= v >> 16u;
 *     v.x += v.y*v.z;  (y and z are not needed)
 *
 * Source: the `pcg3d` hash of Jarzynski & Olano 2020, "Hash Functions for GPU Rendering", JCGT 9(3).
 * @param seed @param rollout @param position whole numbers, taken modulo 2³².
 * @returns an unsigned 32-bit whole number.
 */
export function counterBits(seed: number, rollout: number, position: number): number {
  let x = (Math.imul(seed, 1664525) + 1013904223) | 0;
  let y = (Math.imul(rollout, 1664525) + 1013904223) | 0;
  let z = (Math.imul(position, 1664525) + 1013904223) | 0;
  x = (x + Math.imul(y, z)) | 0;
  y = (y + Math.imul(z, x)) | 0;
  z = (z + Math.imul(x, y)) | 0;
  x ^= x >>> 16;
  y ^= y >>> 16;
  z ^= z >>> 16;
  return (x + Math.imul(y, z)) >>> 0;
}

/** Uniform in [0, 1): the upper 24 of the `counterBits`, divided by 2²⁴; exact in float32. */
export function counterUniform(seed: number, rollout: number, position: number): number {
  return (counterBits(seed, rollout, position) >>> 8) / 16777216;
}

import { readdirSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { globals } from 'webgpu';
import { pack } from '../../src/policy/batch.ts';
import type { Grammar, PolicyShape } from '../../src/policy/engine.ts';
import { createWebGpuEngine } from '../../src/policy/webgpu/engine.ts';
import { Listener } from './bench.ts';
import { CASES } from './cases/index.ts';
import { idleDevice, KINDS, type Text } from './idleDevice.ts';
import { prove } from './prove.ts';

/** What every WebGPU device grants, and less workgroup memory than that. */
const STORAGE_BUFFERS = 8;
const UNIFORMS = 12;
const INVOCATIONS = 256;
const WORKGROUP_BYTES = 16 * 1024;

/** The smallest and the largest that are used, heads of odd sizes, several tiles of the vocabulary, gated MLPs. */
const SHAPES: readonly PolicyShape[] = [
  { vocab: 32, width: 4, layers: 1, heads: 1, hidden: 4, context: 8 },
  { vocab: 2055, width: 12, layers: 1, heads: 2, hidden: 20, context: 40 },
  { vocab: 64, width: 64, layers: 2, heads: 4, hidden: 256, context: 128 },
  { vocab: 4096, width: 256, layers: 1, heads: 4, hidden: 684, context: 512, mlp: 'swiglu' },
  { vocab: 32768, width: 64, layers: 1, heads: 1, hidden: 2048, context: 2048 },
  { vocab: 260, width: 768, layers: 1, heads: 12, hidden: 2048, context: 2048, mlp: 'swiglu' },
];

/** A grammar of one state in which everything is allowed. */
const grammarOf = (vocab: number): Grammar => ({
  classes: new Uint16Array(vocab),
  classCount: 1,
  next: Int32Array.of(0),
});

/** Makes an engine write every text that it has: training, evaluation and sampling under every cut. */
async function textsOf(kind: keyof typeof KINDS, shape: PolicyShape): Promise<Text[]> {
  const { device, texts } = idleDevice(KINDS[kind]);
  const engine = await createWebGpuEngine(device, shape, { capacity: 300 });
  const batch = pack([{ tokens: [1, 2, 3], weights: [1, 1, 0] }]);
  const sampler = engine.sampler(8);
  for (const topP of [1, 0.9])
    for (const grammar of [null, grammarOf(shape.vocab)]) {
      const truncation = { temperature: 1, topP, ...(grammar ? { grammar } : {}) };
      const states = grammar ? new Int32Array(3) : undefined;
      await engine.evaluate(batch, truncation, states);
      // A limit of 0 compiles the draw and asks it for nothing.
      const inputs = [...Array(8)].map(() => [1, 2]);
      sampler.reset();
      await sampler.turn(inputs, { ...truncation, stop: 0, limit: 0, seed: 1 });
    }
  engine.destroy();
  return [...texts.values()];
}

/** Bytes of an array, a scalar or a vector of 4 bytes an element. @throws Error on any other type. */
function bytesOf(type: string): number {
  const array = /^array<(.*),\s*(\d+)\s*>$/.exec(type.trim());
  if (array) return bytesOf(array[1]!) * Number(array[2]);
  const simple = /^(?:vec([234])(?:[fiu]|<[fiu]32>)|[fiu]32)$/.exec(type.trim());
  if (!simple) throw new Error(`cannot tell the size of ${type}`);
  // A vec3 is stored as a vec4.
  return [4, 4, 8, 16, 16][Number(simple[1] ?? 1)]!;
}

/** Bytes of workgroup memory that a text declares. */
const workgroupBytes = (code: string): number =>
  [...code.matchAll(/var<workgroup>\s*\w+\s*:\s*([^;]+);/g)].reduce(
    (sum, [, type]) => sum + bytesOf(type!),
    0,
  );

describe('the text of every kernel', () => {
  const written = new Map<keyof typeof KINDS, Text[]>();
  const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[];
  beforeAll(async () => {
    // Of Dawn's globals only the names of usages are needed: no device is opened.
    Object.assign(globalThis, globals);
    for (const kind of kinds) {
      const texts = [];
      for (const shape of SHAPES) texts.push(...(await textsOf(kind, shape)));
      // The variants of the proofs, among them those that only other devices use.
      const listener = new Listener();
      for (const kernelCase of CASES)
        if (!kernelCase.quads || KINDS[kind].quads) await prove(kernelCase, 3, '1', listener);
      const proved = [...listener.texts].map(([code, label]) => ({ label, code }));
      written.set(kind, [...texts, ...proved]);
    }
  }, 120_000);

  it.each(kinds)('is looked at, of every file, on %s', (kind) => {
    const files = readdirSync(new URL('../../shaders', import.meta.url)).map((f) => f.replace('.wgsl', ''));
    const labels = [...new Set(written.get(kind)!.map((text) => text.label))];
    expect(labels.sort()).toEqual(files.sort());
  });

  it.each(kinds)('keeps to the limits that every device grants, on %s', (kind) => {
    for (const { label, code } of written.get(kind)!) {
      expect(code.match(/var<storage/g)?.length ?? 0, label).toBeLessThanOrEqual(STORAGE_BUFFERS);
      expect(code.match(/var<uniform>/g)?.length ?? 0, label).toBeLessThanOrEqual(UNIFORMS);
      const size = /@workgroup_size\(([\d, ]+)\)/.exec(code)?.[1];
      const invocations = size!.split(',').reduce((product, part) => product * Number(part), 1);
      expect(invocations, label).toBeGreaterThan(0);
      expect(invocations, label).toBeLessThanOrEqual(INVOCATIONS);
      expect(workgroupBytes(code), label).toBeLessThanOrEqual(WORKGROUP_BYTES);
    }
  });

  it.each(kinds)('has one entry point, no override, no atomics and no half precision, on %s', (kind) => {
    for (const { label, code } of written.get(kind)!) {
      expect(code.match(/@compute/g), label).toHaveLength(1);
      expect(code, label).not.toMatch(/\boverride\b|\batomic|\bf16\b|\bvec\dh\b/);
    }
  });

  it('asks for subgroups where they have 4 lanes, and nowhere else', () => {
    for (const kind of kinds)
      for (const { label, code } of written.get(kind)!) {
        if (!KINDS[kind].quads) expect(code, label).not.toMatch(/\benable\b|subgroup/);
        expect(/\bsubgroup/.test(code), label).toBe(/\benable subgroups;/.test(code));
      }
    const shared = written.get(kinds[2]!)!.filter(({ code }) => code.includes('enable subgroups;'));
    expect(new Set(shared.map(({ label }) => label))).toEqual(
      new Set(['matmul_nt', 'matmul_nn', 'matmul_tn']),
    );
  });

  it('reads the size of workgroup memory', () => {
    const code =
      'var<workgroup> a: array<vec4f, 64>;\nvar<workgroup> b: array<vec3<f32>, 2>;\nvar<workgroup> c: u32;\nvar<workgroup> d: array<array<vec2f, 3>, 5>;';
    expect(workgroupBytes(code)).toBe(64 * 16 + 2 * 16 + 4 + 15 * 8);
    expect(() => workgroupBytes('var<workgroup> a: array<Pair, 3>;')).toThrow(/Pair/);
  });
});

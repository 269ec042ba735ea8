import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { layout } from '../../../src/policy/layout.ts';
import { readSafetensors, writeSafetensors } from '../../../src/policy/safetensors.ts';
import { randomCheckpoint, shape } from './checkpoints.ts';

const bits = (values: Float32Array) => new Uint32Array(values.buffer, values.byteOffset, values.length);

/** Takes a file apart; `join` puts it together again, with or without damage. */
function parts(bytes: Uint8Array) {
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  return { header: header as Record<string, JsonObject>, data: bytes.slice(8 + length) };
}
function join(header: unknown, data: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + data.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  bytes.set(data, 8 + text.length);
  return bytes;
}

describe('safetensors', () => {
  it('comes back bit for bit, −0 and subnormal numbers too', () => {
    const checkpoint = randomCheckpoint(1);
    checkpoint.parameters[3] = -0;
    checkpoint.parameters[4] = 1e-42;
    const back = readSafetensors(writeSafetensors(checkpoint, { arm: 'one' }));
    expect(back.shape).toEqual(shape);
    expect(back.step).toBe(1234);
    for (const field of ['parameters', 'moment1', 'moment2'] as const)
      expect(bits(back[field])).toEqual(bits(checkpoint[field]));
  });

  it('leaves the optimiser out on demand', () => {
    const checkpoint = randomCheckpoint(2);
    const bytes = writeSafetensors(checkpoint, {}, { optimiser: false });
    const back = readSafetensors(bytes);
    expect(bits(back.parameters)).toEqual(bits(checkpoint.parameters));
    expect(back.moment1.every((v) => v === 0) && back.moment2.every((v) => v === 0)).toBe(true);
    expect(bytes.length).toBeLessThan(0.4 * writeSafetensors(checkpoint).length);
  });

  it('keeps to the format: aligned data, tensors in layout order that cover it, metadata of text', () => {
    const checkpoint = randomCheckpoint(3);
    const bytes = writeSafetensors(checkpoint, { arm: 'ä' });
    const { header, data } = parts(bytes);
    expect((bytes.length - data.length) % 8).toBe(0);
    expect(header.__metadata__).toEqual({
      arm: 'ä',
      format: 'rollout-lab-policy-2',
      step: '1234',
      shape: JSON.stringify(shape),
    });
    const names = layout(shape).tensors.map((t) => t.name);
    const all = ['', 'optimizer.exp_avg.', 'optimizer.exp_avg_sq.'].flatMap((p) => names.map((n) => p + n));
    expect(Object.keys(header).slice(1)).toEqual(all);
    let end = 0;
    for (const name of all) {
      const entry = header[name] as { dtype: string; shape: number[]; data_offsets: [number, number] };
      expect(entry.dtype).toBe('F32');
      expect(entry.data_offsets[0]).toBe(end);
      end = entry.data_offsets[1];
      expect(end - entry.data_offsets[0]).toBe(4 * entry.shape.reduce((a, b) => a * b, 1));
    }
    expect(end).toBe(data.length);
    const view = new DataView(data.buffer);
    expect(view.getFloat32(4, true)).toBe(checkpoint.parameters[1]);
  });

  it('reads from the middle of a larger buffer, at any alignment', () => {
    const bytes = writeSafetensors(randomCheckpoint(4));
    const larger = new Uint8Array(bytes.length + 9);
    larger.set(bytes, 3);
    expect(readSafetensors(larger.subarray(3, 3 + bytes.length))).toEqual(readSafetensors(bytes));
  });

  it('does not write what could not be read', () => {
    const checkpoint = randomCheckpoint(5);
    expect(() => writeSafetensors(checkpoint, { step: '3' })).toThrow(LabError);
    checkpoint.parameters[7] = Number.NaN;
    expect(() => writeSafetensors(checkpoint)).toThrow(/entry 7 is NaN/);
  });
});

describe('a damaged file', () => {
  const whole = writeSafetensors(randomCheckpoint(6));
  const { header, data } = parts(whole);
  const embed = header.embed as JsonObject;
  const metadata = header.__metadata__ as JsonObject;
  const withEmbed = (damage: JsonObject) => join({ ...header, embed: { ...embed, ...damage } }, data);
  const withMetadata = (damage: JsonObject) =>
    join({ ...header, __metadata__: { ...metadata, ...damage } }, data);
  const size = 4 * 13 * 16;

  const cases: [string, Uint8Array, RegExp][] = [
    ['nothing', new Uint8Array(0), /0 bytes/],
    ['a header length past the end', new Uint8Array(16).fill(255), /header claims/],
    ['a header that is no JSON', join('{"a":', data), /no JSON/],
    ['a header that is no UTF-8', whole.map((b, i) => (i === 12 ? 0xff : b)), /no JSON in UTF-8/],
    ['a header that is a list', join([], data), /no JSON object/],
    ['no metadata', join({ ...header, __metadata__: null }, data), /format/],
    ['another format', withMetadata({ format: 'pt' }), /format/],
    ['a step that is no number', withMetadata({ step: '1e3' }), /step/],
    ['a shape that is no JSON', withMetadata({ shape: '{' }), /shape/],
    ['a shape that lacks a size', withMetadata({ shape: '{"vocab":13}' }), /shape\.width/],
    [
      'a shape of more layers than tensors',
      withMetadata({ shape: JSON.stringify({ ...shape, layers: 100000 }) }),
      /tensors where a policy of 100000 layers/,
    ],
    [
      'a missing tensor',
      join(Object.fromEntries(Object.entries(header).slice(0, -1)), data),
      /tensors where/,
    ],
    [
      'an unknown tensor',
      join(JSON.stringify(header).replace('"0.qkv"', '"0.kqv"'), data),
      /“0\.qkv”.*missing/,
    ],
    ['another type', withEmbed({ dtype: 'F16' }), /“embed”.*F16/],
    ['another shape', withEmbed({ shape: [16, 13] }), /“embed”.*\[16,13\]/],
    ['offsets of the wrong length', withEmbed({ data_offsets: [0, size + 4] }), /do not hold/],
    ['negative offsets', withEmbed({ data_offsets: [-size, 0] }), /do not hold/],
    ['offsets that are no numbers', withEmbed({ data_offsets: ['0', '1'] }), /no pair/],
    ['an overlap', withEmbed({ data_offsets: [4, size + 4] }), /hole of 4 bytes/],
    ['a tensor on another', withEmbed({ data_offsets: [size, 2 * size] }), /overlaps|hole/],
    ['bytes that no tensor holds', join(header, new Uint8Array(data.length + 4)), /4 bytes follow/],
    ['data cut short', whole.subarray(0, whole.length - 1), /ends at byte/],
    [
      'a number that is not finite',
      join(
        header,
        data.map((b, i) => (i < 4 ? 255 : b)),
      ),
      /entry 0 is NaN/,
    ],
  ];
  it.each(cases)('%s is told as such', (_, bytes, message) => {
    let told = '';
    try {
      readSafetensors(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(LabError);
      told = String(error);
    }
    expect(told).toMatch(message);
  });

  it('tells an overlap', () => {
    const norm1 = header['0.norm1'] as { data_offsets: [number, number] };
    const [begin, end] = norm1.data_offsets;
    const bytes = join({ ...header, '0.norm1': { ...norm1, data_offsets: [begin - 8, end - 8] } }, data);
    expect(() => readSafetensors(bytes)).toThrow(/overlaps tensor “embed”/);
  });

  it('is read or refused with a LabError, whatever bytes change', () => {
    const headerLength = whole.length - data.length;
    const change = fc.record({
      at: fc.oneof(fc.nat(headerLength - 1), fc.nat(whole.length - 1), fc.nat(8)),
      to: fc.nat(255),
    });
    fc.assert(
      fc.property(
        fc.array(change, { minLength: 1, maxLength: 6 }),
        fc.option(fc.nat(whole.length)),
        (changes, length) => {
          const bytes = whole.slice(0, length ?? whole.length);
          for (const { at, to } of changes) if (at < bytes.length) bytes[at] = to;
          readOrRefuse(bytes);
        },
      ),
      { numRuns: 1500 },
    );
  });

  it('is read or refused with a LabError, whatever JSON the header holds', () => {
    const value = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonObject[string]>;
    const name = fc.constantFrom(
      '__metadata__',
      'embed',
      '1.down',
      'optimizer.exp_avg_sq.norm',
      'more',
      '__proto__',
    );
    const field = fc.constantFrom('dtype', 'shape', 'data_offsets', 'step', 'format');
    fc.assert(
      fc.property(name, fc.option(field), value, (key, inner, damage) => {
        const entry = header[key] as JsonObject | undefined;
        const changed = inner === null ? damage : { ...entry, [inner]: damage };
        readOrRefuse(join({ ...header, [key]: changed }, data));
      }),
      { numRuns: 500 },
    );
  });

  function readOrRefuse(bytes: Uint8Array): void {
    try {
      const { shape: read, parameters } = readSafetensors(bytes);
      expect(parameters.length).toBe(layout(read).count);
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
    }
  }
});

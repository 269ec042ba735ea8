import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LabError } from '../../src/base/errors.ts';
import { normaliseConfig } from '../../src/lab/config.ts';
import { LINK_VERSIONS, type LinkVersions } from '../../src/lab/link/version.ts';
import { decodeLink, encodeLink, type Linkable, MAX_FRAGMENT, READABLE } from '../../src/lab/link.ts';
import type { Config, RunSpec } from '../../src/methods/method.ts';
import { LARGE, OTHER, refusal, SAMPLE } from './sample-method.ts';

const METHODS = [SAMPLE, OTHER, LARGE];
const decode = (text: string, versions?: LinkVersions) => decodeLink(text, METHODS, versions);

/** Any valid run of a method. */
function specs(method: Linkable): fc.Arbitrary<RunSpec> {
  const values = method.controls.map((control): fc.Arbitrary<number | string> => {
    if (control.kind === 'choice') return fc.constantFrom(...control.choices.map((choice) => choice.value));
    const steps = Math.floor((control.max - control.min) / control.step + 1e-9);
    return fc
      .integer({ min: 0, max: steps })
      .map((k) => Math.min(control.max, control.min + k * control.step));
  });
  const ids = method.arms.map((arm) => arm.id);
  const presets = (['micro', 'laptop', 'full'] as const).filter((id) => method.presets[id]);
  return fc
    .record({
      preset: fc.constantFrom(...presets),
      values: fc.tuple(...values),
      arms: fc.subarray(ids, { minLength: 1 }),
      seed: fc.nat(4294967295),
    })
    .map(({ preset, values, arms, seed }) => {
      const config: Config = Object.fromEntries(
        method.controls.map((control, i) => [control.key, values[i]!]),
      );
      return { method: method.id, preset, config, arms, seed };
    });
}

const spec: RunSpec = {
  method: 'toolspace',
  preset: 'micro',
  config: normaliseConfig(SAMPLE, 'micro', { batch: 64 }),
  arms: ['graph', 'random', 'none'],
  seed: 3,
};

const largeSpec: RunSpec = {
  method: 'large',
  preset: 'micro',
  config: Object.fromEntries(LARGE.controls.map((control, i) => [control.key, (i * 7919 + 13) % 1_000_000])),
  arms: ['graph'],
  seed: 9,
};

describe('encodeLink', () => {
  it('writes the difference to the preset, readably, in the fragment', async () => {
    expect(await encodeLink(SAMPLE, spec, 'https://lab.example/a/?q=1#old')).toBe(
      'https://lab.example/a/?q=1#/toolspace?v=1&preset=micro&seed=3&set.batch=64',
    );
  });

  it('names arms only where some are left out, and the view only where it is asked for', async () => {
    const link = await encodeLink(SAMPLE, { ...spec, arms: ['none', 'graph'] }, '', {
      autorun: true,
      view: { stage: 'walk', metric: 'success' },
    });
    expect(link).toBe(
      '#/toolspace?v=1&preset=micro&seed=3&arms=graph,none&set.batch=64&run=1&view.stage=walk&view.metric=success',
    );
    expect(await decode(link)).toMatchObject({
      arms: ['graph', 'none'],
      autorun: true,
      view: { stage: 'walk', metric: 'success' },
    });
  });

  it('packs a long link, which is then shorter', async () => {
    const link = await encodeLink(LARGE, largeSpec);
    expect(link).toMatch(/^#\/large\?v=1&z=[A-Za-z0-9_-]+$/);
    const readable = LARGE.controls
      .map((control) => `set.${control.key}=${largeSpec.config[control.key]}`)
      .join('&').length;
    expect(readable).toBeGreaterThan(READABLE);
    expect(link.length).toBeLessThan(readable);
    expect(await decode(link)).toEqual({ ...largeSpec, autorun: false, view: {} });
  });

  it('refuses a run that is not valid', async () => {
    expect(await refusal(() => encodeLink(SAMPLE, { ...spec, method: 'other' }))).toMatch(/not of ToolSpace/);
    expect(await refusal(() => encodeLink(SAMPLE, { ...spec, seed: -1 }))).toMatch(/seed -1/);
    expect(
      await refusal(() => encodeLink(SAMPLE, { ...spec, config: { ...spec.config, batch: 7 } })),
    ).toMatch(/Batch: 7/);
  });

  it.each([SAMPLE, OTHER, LARGE])('is read back as it was written ($id)', async (method) => {
    await fc.assert(
      fc.asyncProperty(specs(method), fc.boolean(), async (run, autorun) => {
        const link = await encodeLink(method, run, 'https://lab.example/', { autorun });
        expect(await decode(link)).toEqual({ ...run, autorun, view: {} });
        expect(await encodeLink(method, await decode(link), 'https://lab.example/', { autorun })).toBe(link);
      }),
      { numRuns: 60 },
    );
  });
});

describe('decodeLink', () => {
  it('opens a method alone at its first preset', async () => {
    expect(await decode('#/other')).toEqual({
      method: 'other',
      preset: 'laptop',
      config: OTHER.presets.laptop,
      arms: ['graph', 'random', 'none'],
      seed: 1,
      autorun: false,
      view: {},
    });
  });

  it('reads escapes', async () => {
    expect((await decode('#/toolspace?v=1&set.masking=all%20%26%20more')).config.masking).toBe('all & more');
  });

  it.each([
    ['', /no method ""/],
    ['#', /no method/],
    ['#/toolspac?v=1', /Did you mean toolspace/],
    ['#/__proto__?v=1', /no method "__proto__"/],
    ['#/%zz?v=1', /no method "%zz"/],
    ['#/toolspace?preset=micro', /does not say its version/],
    ['#/toolspace?v=0', /"0" is no version/],
    ['#/toolspace?v=one', /no version/],
    ['#/toolspace?v=2', /made by a newer lab .* — Reload the page/],
    ['#/toolspace?v=1&v=1', /"v" stands twice/],
    ['#/toolspace?v=1&set.batch=64&set.batch=32', /"set.batch" stands twice/],
    ['#/toolspace?v=1&set.batch=64&set%2Ebatch=32', /"set.batch" stands twice/],
    ['#/toolspace?v=1&preset=laptop', /no preset "laptop"/],
    ['#/toolspace?v=1&preset=', /no field of a link — The link may have been cut off/],
    ['#/toolspace?v=1&preset=micro&se', /no field of a link — The link may have been cut off/],
    ['#/toolspace?v=1&', /no field/],
    ['#/toolspace?v=1&seed=4294967296', /seed "4294967296"/],
    ['#/toolspace?v=1&seed=-1', /seed "-1"/],
    ['#/toolspace?v=1&seed=1e9', /seed "1e9"/],
    ['#/toolspace?v=1&arms=graph,rndom', /no arm "rndom" — Did you mean random/],
    ['#/toolspace?v=1&arms=graph,graph', /named twice/],
    ['#/toolspace?v=1&arms=,', /no arm ""/],
    ['#/toolspace?v=1&set.batch=65', /nearest are 64 or 72/],
    ['#/toolspace?v=1&set.bach=64', /Did you mean batch/],
    ['#/toolspace?v=1&set.=64', /no setting ""/],
    ['#/toolspace?v=1&set.__proto__=1', /"set.__proto__" is not allowed in a link/],
    ['#/toolspace?v=1&set.__proto__.polluted=1', /not allowed in a link/],
    ['#/toolspace?v=1&constructor=1', /not allowed in a link/],
    ['#/toolspace?v=1&set.prototype=1', /not allowed in a link/],
    ['#/toolspace?v=1&sed=1', /"sed" is no field of a link — Did you mean seed/],
    ['#/toolspace?v=1&run=yes', /run: "yes" is not allowed/],
    ['#/toolspace?v=1&view.stage=paint', /view.stage: "paint" is not allowed — Choose one of traces/],
    ['#/toolspace?v=1&view.metric=loss', /Choose one of success/],
    ['#/toolspace?v=1&view.font=big', /"font" is no part of the view/],
    ['#/toolspace?v=1&set.masking=%E0%A4%A', /broken percent escape/],
    ['#/toolspace?v=1&z=%20', /damaged/],
    ['#/toolspace?v=1&z=A', /damaged: it was cut off/],
    ['#/toolspace?v=1&z=AAAA', /damaged/],
    ['#/toolspace?v=1&z=AAAA&seed=1', /side by side/],
  ])('refuses %s', async (link, message) => {
    expect(await refusal(() => decode(link))).toMatch(message);
  });

  it('refuses a fragment that is too long before it looks inside', async () => {
    const link = `#/toolspace?v=1&set.batch=${'6'.repeat(MAX_FRAGMENT)}`;
    expect(await refusal(() => decode(link))).toMatch(/characters long; at most 8192/);
  });

  it('refuses every link that was cut off inside its packed part', async () => {
    const link = await encodeLink(LARGE, largeSpec);
    for (let end = link.indexOf('&z=') + 1; end < link.length; end++) {
      expect(await refusal(() => decode(link.slice(0, end))), `cut to ${end}`).toMatch(/cut off/);
    }
  });

  it('notices any changed character of a packed link', async () => {
    const link = await encodeLink(LARGE, largeSpec);
    const start = link.indexOf('&z=') + 3;
    // The last character may carry bits that base64 ignores.
    for (let at = start; at < link.length - 1; at++) {
      const other = link[at] === 'A' ? 'B' : 'A';
      await refusal(() => decode(`${link.slice(0, at)}${other}${link.slice(at + 1)}`));
    }
  });

  it('stops inflating at once where a link unpacks to far too much', async () => {
    const bomb = deflateRawSync(Buffer.alloc(6_000_000), { level: 9 }).toString('base64url');
    expect(bomb.length).toBeLessThan(MAX_FRAGMENT - 40);
    const before = process.memoryUsage();
    const start = performance.now();
    expect(await refusal(() => decode(`#/toolspace?v=1&z=${bomb}`))).toMatch(
      /unpacks to more than 65536 bytes/,
    );
    expect(performance.now() - start).toBeLessThan(1000);
    expect(process.memoryUsage().arrayBuffers - before.arrayBuffers).toBeLessThan(2_000_000);
  });

  it('takes a link of an older version through the steps', async () => {
    const versions: LinkVersions = {
      current: 3,
      steps: {
        1: (fields) => fields.map(([name, value]) => [name === 'set.size' ? 'set.batch' : name, value]),
        2: (fields) =>
          fields.map(([name, value]) => [name, name === 'set.batch' ? String(Number(value) * 2) : value]),
      },
    };
    expect((await decode('#/toolspace?v=1&set.size=32', versions)).config.batch).toBe(64);
    expect((await decode('#/toolspace?v=2&set.batch=32', versions)).config.batch).toBe(64);
    expect((await decode('#/toolspace?v=3&set.batch=32', versions)).config.batch).toBe(32);
    expect(await refusal(() => decode('#/toolspace?v=1', { current: 2, steps: {} }))).toMatch(
      /version 1 can no longer be read/,
    );
  });

  it('has a step for every version but the newest', () => {
    const older = Array.from({ length: LINK_VERSIONS.current - 1 }, (_, i) => String(i + 1));
    expect(Object.keys(LINK_VERSIONS.steps)).toEqual(older);
  });

  it('throws nothing but LabErrors at garbage', async () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '#/toolspace',
        '?',
        'v=1',
        '&',
        '=',
        'set.batch',
        'seed=',
        'z=',
        '%',
        '%E0',
        'arms=',
        'graph',
        ',',
        '__proto__',
        'view.',
      ),
    );
    const packed = fc
      .uint8Array({ maxLength: 80 })
      .map((bytes) => `#/toolspace?v=1&z=${Buffer.from(bytes).toString('base64url')}`);
    const inside = fc
      .string({ maxLength: 80 })
      .map((text) => `#/toolspace?v=1&z=${deflateRawSync(text).toString('base64url')}`);
    const garbage = fc.oneof(
      fc.array(piece, { maxLength: 12 }).map((parts) => parts.join('')),
      packed,
      inside,
    );
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(garbage, async (text) => {
        await decode(text).catch((error: unknown) => {
          refused++;
          expect(error).toBeInstanceOf(LabError);
        });
      }),
      { numRuns: 1500 },
    );
    expect(refused).toBeGreaterThan(1000);
    expect(Object.prototype).not.toHaveProperty('polluted');
  });
});

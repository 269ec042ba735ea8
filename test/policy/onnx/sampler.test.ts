import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/base/rng.ts';
import type { Grammar, PolicyShape, SampledTurn, Sampler, TurnOptions } from '../../../src/policy/engine.ts';
import { exportOnnx } from '../../../src/policy/onnx/export.ts';
import { openOnnxPolicy } from '../../../src/policy/onnx/policy.ts';
import { createCpuEngine } from '../../../src/policy/twin/engine.ts';
import { randomCheckpoint } from '../formats/checkpoints.ts';
import { batchOf, LIMIT, nameOf, ort, SHAPES, twinLogits, worst } from './harness.ts';

const ROLLOUTS = 3;

/** Three turns of ragged inputs; in the second one rollout is left alone. */
function inputsOf({ vocab, context }: PolicyShape): (number[] | null)[][] {
  const rng = new Rng('inputs');
  const some = (length: number) => Array.from({ length }, () => rng.int(vocab));
  const room = Math.floor(context / 4);
  return [
    [some(room), some(1), some(3)],
    [some(1), null, some(2)],
    [some(2), some(room), some(1)],
  ];
}

async function converse(
  sampler: Sampler,
  shape: PolicyShape,
  options: Partial<TurnOptions>,
): Promise<SampledTurn[][]> {
  const turns: SampledTurn[][] = [];
  for (const [i, inputs] of inputsOf(shape).entries())
    turns.push(await sampler.turn(inputs, { stop: 2, limit: 4, temperature: 0, seed: 5 + i, ...options }));
  return turns;
}

/** Only even tokens, then only odd ones, in turn. */
const alternating = (vocab: number): Grammar => ({
  classes: Uint16Array.from({ length: vocab }, (_, v) => v % 2),
  classCount: 2,
  next: Int32Array.of(1, -1, -1, 0),
});

describe.each(SHAPES)('the sampler on the exported model (%#)', (shape) => {
  const checkpoint = randomCheckpoint(11, shape);
  const open = () => openOnnxPolicy(ort, exportOnnx(checkpoint, { cache: true }), 'wasm');

  it.each<[string, Partial<TurnOptions>]>([
    ['greedily', {}],
    ['at a temperature', { temperature: 0.8 }],
    ['from a nucleus under a grammar', { temperature: 1.3, topP: 0.7, grammar: alternating(shape.vocab) }],
  ])(`says what the twins say, ${nameOf(shape)}, %s`, async (_, options) => {
    const policy = await open();
    const engine = createCpuEngine(shape);
    engine.load(checkpoint);
    const [mine, theirs] = [policy.sampler(ROLLOUTS), engine.sampler(ROLLOUTS)];
    const said = await converse(mine, shape, options);
    const wanted = await converse(theirs, shape, options);
    expect(said.map((turn) => turn.map(({ tokens }) => tokens))).toEqual(
      wanted.map((turn) => turn.map(({ tokens }) => tokens)),
    );
    const logs = (turns: SampledTurn[][]) => turns.flat().flatMap(({ logProbs }) => logProbs);
    expect(logs(said).length).toBeGreaterThan(12);
    expect(worst(logs(said), logs(wanted))).toBeLessThan(LIMIT);
    // The same again from the start.
    mine.reset();
    expect(await converse(mine, shape, options)).toEqual(said);
    mine.destroy();
    engine.destroy();
    await policy.destroy();
  });

  it(`computes token by token what it computes all at once, to the end of the context, ${nameOf(shape)}`, async () => {
    const policy = await open();
    const held: number[][] = [[], []];
    const rows: Float32Array[][] = [[], []];
    const sampler = policy.sampler(2, {
      logits: (rollout, position, row) => {
        rows[rollout]![position] = row.slice();
      },
      token: (rollout, token) => void held[rollout]!.push(token),
    });
    const prompts = [[1, 2, 3, 4, 5], [6]];
    for (const [r, prompt] of prompts.entries()) held[r]!.push(...prompt);
    await sampler.turn(prompts, { stop: -1, limit: shape.context - 5, temperature: 1, seed: 1 });
    expect(held[0]!.length).toBe(shape.context);
    for (const [r, tokens] of held.entries()) {
      // The last sampled token has not entered the cache.
      const batch = batchOf([tokens.slice(0, -1)]);
      const stepwise = Float32Array.from(rows[r]!.flatMap((row) => [...row]));
      expect(worst(stepwise, await policy.logits(batch))).toBeLessThan(LIMIT);
      expect(worst(stepwise, await twinLogits(checkpoint, batch))).toBeLessThan(LIMIT);
    }
    await expect(sampler.turn([[1], null], { stop: 0, limit: 1, temperature: 0, seed: 1 })).rejects.toThrow(
      /could reach/,
    );
    sampler.destroy();
    await expect(sampler.turn([[1], null], { stop: 0, limit: 1, temperature: 0, seed: 1 })).rejects.toThrow(
      /destroyed/,
    );
    await policy.destroy();
  });
});

describe('a policy without its cache', () => {
  it('can be asked for logits, not sampled', async () => {
    const policy = await openOnnxPolicy(ort, exportOnnx(randomCheckpoint(1, SHAPES[0]!)), 'wasm');
    expect(() => policy.sampler(1)).toThrow(/no inputs for keys and values/);
    await policy.destroy();
  });
});

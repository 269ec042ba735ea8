import type { LabDevice } from '../../gpu/device.ts';
import type { PackedBatch, PolicyEngine, PolicyShape } from '../../policy/engine.ts';
import { openCpuEngine } from '../../policy/wasm/open.ts';
import { createWebGpuEngine } from '../../policy/webgpu/engine.ts';
import type { Same } from './peers/peer.ts';
import { STEP, type TurnLoad } from './student.ts';

/** Our engine on the device, or on the processor where there is none. */
export async function openEngine(
  device: LabDevice | null,
  shape: PolicyShape,
  capacity: number,
): Promise<PolicyEngine> {
  return device ? createWebGpuEngine(device, shape, { capacity }) : openCpuEngine(shape, { capacity });
}

/** Gives the engine the weights that a peer has as well. */
export function load(engine: PolicyEngine, { shape, parameters }: Same): void {
  const zeros = new Float32Array(parameters.length);
  engine.load({ shape, step: 0, parameters, moment1: zeros, moment2: zeros });
}

/** Does `count` training steps and waits for them. @returns the loss of the first, before its update */
export async function trainSteps(engine: PolicyEngine, batch: PackedBatch, count: number): Promise<number> {
  for (let i = 0; i < count; i++) engine.train(batch, STEP);
  const [first] = await engine.stats();
  return first?.loss ?? Number.NaN;
}

/** One turn of a fresh sampler's state, every rollout to the limit. @returns tokens sampled */
export async function sampleTurn(
  sampler: ReturnType<PolicyEngine['sampler']>,
  { prompts, limit }: TurnLoad,
): Promise<number> {
  sampler.reset();
  const turns = await sampler.turn(prompts, { stop: -1, limit, temperature: 1, seed: 1 });
  return turns.reduce((sum, { tokens }) => sum + tokens.length, 0);
}

/** Logits [V] after the last token of a prompt. */
export async function logitsAfter(engine: PolicyEngine, prompt: readonly number[]): Promise<Float32Array> {
  const n = prompt.length;
  const batch: PackedBatch = {
    tokens: Int32Array.from(prompt),
    starts: new Int32Array(n),
    targets: new Int32Array(n),
    weights: new Float32Array(n),
  };
  return (await engine.logits(batch)).slice(-engine.shape.vocab);
}

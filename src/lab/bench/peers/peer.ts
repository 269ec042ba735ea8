import type { PackedBatch, PolicyShape } from '../../../policy/engine.ts';
import type { TurnLoad } from '../student.ts';

/** Libraries that do the same work. */
export const PEERS = ['jax-js', 'tfjs', 'ort'] as const;
export type PeerName = (typeof PEERS)[number];

/** The versions that package.json pins; a test holds them to it. */
export const VERSIONS: Record<PeerName, string> = { 'jax-js': '0.1.25', tfjs: '4.22.0', ort: '1.30.0' };

/** What a peer and we are both given. */
export interface Same {
  shape: PolicyShape;
  /** Flat parameters in `layout`. */
  parameters: Float32Array;
}

/** A training step of another library: forward, backward and update, on one batch. */
export interface TrainingPeer {
  /** The loss of the batch before any step, to see that it is the same work. */
  loss(): Promise<number>;
  /** Does `count` steps and waits for them. */
  steps(count: number): Promise<void>;
  destroy(): void;
}

/** Token by token sampling of another library. */
export interface SamplingPeer {
  /** Logits [V] after the prompt of the first rollout. */
  logits(): Promise<Float32Array>;
  /** One turn of all rollouts together. @returns tokens sampled */
  together(): Promise<number>;
  /** The same turn of one rollout alone. @returns tokens sampled */
  alone(): Promise<number>;
  destroy(): void;
}

/** Another library, loaded. */
export interface Peer {
  name: PeerName;
  version: string;
  /** What it computes on. */
  backend: 'webgpu' | 'wasm';
  training?(same: Same, batch: PackedBatch): Promise<TrainingPeer>;
  sampling?(same: Same, load: TurnLoad): Promise<SamplingPeer>;
}

/** Sizes of a decoder-only transformer (RMSNorm, rotary positions, GELU MLP, tied embedding). */
export interface PolicyShape {
  vocab: number;
  /** D; a multiple of 4 and of heads, D / heads even. */
  width: number;
  layers: number;
  heads: number;
  /** Hidden units F of the MLP, usually 4·width; 8/3·width where it is gated. */
  hidden: number;
  /**
   * `gelu` (where nothing is said): down(gelu(up(x))). `swiglu`: down(silu(gate)·up) with (gate, up) = Wx, W [2F, D],
   * the rows of the gate first (Shazeer 2020, "GLU Variants Improve Transformer", equation 6).
   */
  mlp?: 'gelu' | 'swiglu';
  /** Longest sequence, in tokens. */
  context: number;
}

/**
 * N token positions packed without padding: sequences lie one after another and never see each other.
 * Position n attends to positions starts[n] … n. All arrays have length N.
 */
export interface PackedBatch {
  /** Input token ids. */
  tokens: Int32Array;
  /** Index of the first position of the sequence that n belongs to; n − starts[n] is its rotary position. */
  starts: Int32Array;
  /** Token id to predict at n. Ignored where the weight is 0. */
  targets: Int32Array;
  /** Weight of the position in the loss; 0 = not trained. Loss = Σ w·nll / Σ w. */
  weights: Float32Array;
}

/** Hyperparameters of one optimiser step (AdamW, decoupled weight decay; gradient clipped to `clip` in 2-norm). */
export interface StepOptions {
  learningRate: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
  clip: number;
}

/** What one step measured. */
export interface StepStats {
  /** Count of optimiser steps done, this one included. */
  step: number;
  /** Weighted mean negative log-likelihood, nats per trained token, before the update. */
  loss: number;
  /** 2-norm of the gradient before clipping. */
  gradientNorm: number;
  /** Trained tokens (weight > 0) and all tokens in the batch. */
  trained: number;
  tokens: number;
}

/** Everything that a resumed run needs of the policy. All arrays have `parameterCount(shape)` entries. */
export interface Checkpoint {
  shape: PolicyShape;
  step: number;
  parameters: Float32Array;
  /** AdamW's first and second moments. */
  moment1: Float32Array;
  moment2: Float32Array;
}

/** Where a policy runs. */
export interface DeviceInfo {
  backend: 'webgpu' | 'cpu';
  /** Adapter as reported ("google swiftshader"), or the processor. */
  name: string;
  limits: Record<string, number>;
  features: string[];
}

/** What one rollout said in one turn. */
export interface SampledTurn {
  /** Sampled token ids, the stop token included where it came. */
  tokens: number[];
  /**
   * Log-probability of each of them in nats, under the truncated distribution that it was drawn from (see `Truncation`);
   * at temperature 0 all 0.
   */
  logProbs: number[];
}

/** Many rollouts decoded together with a key/value cache, greedily or at a temperature. */
export interface Sampler {
  /** How many rollouts at most. */
  readonly rollouts: number;
  /** Forget everything; all rollouts are empty again. */
  reset(): void;
  /**
   * Appends `inputs[r]` (forced tokens: prompt or observation) to rollout r, then samples until `stop` or `limit`
   * tokens. `null` leaves a rollout alone. One readback for all rollouts. Sampled tokens enter the cache.
   * @returns what each rollout said; empty for a `null` input.
   * @throws LabError where a rollout would pass the context length, or on a truncation that `checkTruncation` refuses.
   */
  turn(inputs: readonly (readonly number[] | null)[], options: TurnOptions): Promise<SampledTurn[]>;
  destroy(): void;
}

/**
 * A deterministic automaton over token classes: what may be said next. A turn begins in state 0; token v may be sampled in
 * state s where next[s·C + classes[v]] ≥ 0, and that is the state after it.
 */
export interface Grammar {
  /** Class of every token [V], whole numbers from 0 to C − 1. */
  classes: Uint16Array;
  /** C. */
  classCount: number;
  /** State after a token of each class [S, C]; −1 = forbidden. Every state that can be reached allows some token. */
  next: Int32Array;
}

/**
 * The distribution that tokens are drawn from: softmax(z / temperature) over the tokens that the grammar allows, cut to the
 * nucleus (the fewest of the most probable tokens whose mass reaches `topP`; all tokens tied with the last stay) and
 * renormalised. Temperature 0 is greedy: the log-probability of the token taken is 0.
 */
export interface Truncation {
  /** 0 = greedy. */
  temperature: number;
  /** In (0, 1]; 1, the default, cuts nothing. */
  topP?: number;
  grammar?: Grammar;
}

export interface TurnOptions extends Truncation {
  stop: number;
  limit: number;
  /** Seed of the counter-based generator keyed by (seed, rollout, position). */
  seed: number;
}

/** A policy that can be trained and asked. Implemented in WGSL, in WebAssembly, and on the float64 twins. */
export interface PolicyEngine {
  readonly shape: PolicyShape;
  readonly device: DeviceInfo;
  /** Fresh weights: normal, std 0.02 (projections into the residual scaled by 1/√(2·layers)), gains 1. */
  initialise(seed: number): void;
  /**
   * Queues one optimiser step. Several batches are micro-batches of one step: their gradients are accumulated, and the
   * loss is Σ w·nll / Σ w over all of them, as if they were one.
   * @throws LabError on an empty or malformed batch, before the device is touched.
   */
  train(batch: PackedBatch | readonly PackedBatch[], options: StepOptions): void;
  /** Stats of the steps since the last call, oldest first; waits for the device. */
  stats(): Promise<StepStats[]>;
  /** Logits [N, vocab] in row-major order. For tests and pictures, not for loops. */
  logits(batch: PackedBatch): Promise<Float32Array>;
  /**
   * Negative log-likelihood of the targets, nats, length N (0 where the weight is 0); no update.
   * With a truncation it is that of the truncated distribution: what `Sampler.turn` gives for the same tokens, up to
   * rounding. A target outside the grammar or the nucleus, or any but the greedy one at temperature 0, has +Infinity. Two
   * tokens nearer to the edge of the nucleus than rounding reaches (about 1e-6 of mass) may change sides.
   * @param states with a grammar, its state before targets[n] [N] (see `grammarStates`); read where the weight is not 0.
   * @throws LabError on a malformed batch, truncation or state, before the device is touched.
   */
  evaluate(batch: PackedBatch, truncation?: Truncation, states?: Int32Array): Promise<Float32Array>;
  sampler(rollouts: number): Sampler;
  save(): Promise<Checkpoint>;
  load(checkpoint: Checkpoint): void;
  /** Gives all device memory back. */
  destroy(): void;
}

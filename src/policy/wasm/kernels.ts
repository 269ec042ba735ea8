import base64 from './kernels/index.ts?assembly';

/** An address in the linear memory, in bytes; 0 = none. */
export type Address = number;

/**
 * What the kernels export; each is described at its AssemblyScript source in kernels/. Sizes are whole numbers, arrays are
 * float32 or int32 at addresses.
 */
export interface Kernels {
  readonly PRODUCT_SCRATCH: WebAssembly.Global;
  readonly ATTENTION_ROWS: WebAssembly.Global;
  setProductScratch(at: Address): void;
  product(
    a: Address,
    strideA: number,
    acrossA: boolean,
    b: Address,
    strideB: number,
    acrossB: boolean,
    c: Address,
    strideC: number,
    addend: Address,
    rows: number,
    columns: number,
    depth: number,
  ): void;
  gatherRows(ids: Address, from: Address, to: Address, n: number, d: number): void;
  scatterRows(ids: Address, from: Address, to: Address, n: number, d: number): void;
  addRows(ids: Address, from: Address, to: Address, n: number, d: number): void;
  rmsNorm(x: Address, gain: Address, y: Address, n: number, d: number): void;
  rmsNormBackward(
    x: Address,
    gain: Address,
    dy: Address,
    dx: Address,
    dGain: Address,
    n: number,
    d: number,
    accumulate: boolean,
  ): void;
  rotary(
    qkv: Address,
    positions: Address,
    turns: Address,
    n: number,
    heads: number,
    headWidth: number,
    direction: 1 | -1,
  ): void;
  attention(
    qkv: Address,
    starts: Address,
    o: Address,
    lse: Address,
    scratch: Address,
    n: number,
    heads: number,
    headWidth: number,
  ): void;
  attentionBackward(
    qkv: Address,
    starts: Address,
    o: Address,
    lse: Address,
    dOut: Address,
    scratch: Address,
    dQkv: Address,
    n: number,
    heads: number,
    headWidth: number,
  ): void;
  gelu(x: Address, y: Address, count: number): void;
  geluBackward(x: Address, dy: Address, dx: Address, count: number): void;
  swiglu(gateUp: Address, y: Address, n: number, hidden: number): void;
  swigluBackward(gateUp: Address, dy: Address, dGateUp: Address, n: number, hidden: number): void;
  crossEntropy(
    hidden: Address,
    embed: Address,
    targets: Address,
    weights: Address,
    scratch: Address,
    nll: Address,
    dHidden: Address,
    dEmbed: Address,
    n: number,
    d: number,
    v: number,
    block: number,
    share: number,
  ): void;
  norm(x: Address, count: number): number;
  adamw(
    parameters: Address,
    gradient: Address,
    moment1: Address,
    moment2: Address,
    count: number,
    scale: number,
    learningRate: number,
    beta1: number,
    beta2: number,
    rest1: number,
    rest2: number,
    c1: number,
    c2: number,
    epsilon: number,
    decay: number,
  ): void;
  storeKeyValue(
    qkv: Address,
    rollouts: Address,
    positions: Address,
    keys: Address,
    values: Address,
    n: number,
    heads: number,
    headWidth: number,
    context: number,
  ): void;
  decodeAttention(
    qkv: Address,
    rollouts: Address,
    positions: Address,
    keys: Address,
    values: Address,
    scratch: Address,
    o: Address,
    n: number,
    heads: number,
    headWidth: number,
    context: number,
  ): void;
}

const bytes = () => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

let compiled: Promise<WebAssembly.Module> | undefined;
let supported: boolean | undefined;

/** Whether this machine runs the kernels: WebAssembly with 128-bit SIMD. */
export function hasWasmSimd(): boolean {
  supported ??= typeof WebAssembly === 'object' && WebAssembly.validate(bytes());
  return supported;
}

/** The kernels over one memory. The module is compiled once. */
export async function openKernels(memory: WebAssembly.Memory): Promise<Kernels> {
  compiled ??= WebAssembly.compile(bytes());
  const { exports } = await WebAssembly.instantiate(await compiled, { env: { memory } });
  return exports as unknown as Kernels;
}

/** Factors of a product and its sizes, as in `src/policy/twin/matmul.ts`. `addend`: a matrix like C to add, 0 = none. */
export interface Product {
  a: Address;
  b: Address;
  c: Address;
  addend?: Address;
  n: number;
  m: number;
  k: number;
}

/** C[N, M] = A[N, K] · B[M, K]ᵀ (the layer: y = x · Wᵀ). */
export function matmulNt(kernels: Kernels, { a, b, c, addend = 0, n, m, k }: Product): void {
  kernels.product(a, k, false, b, k, false, c, m, addend, n, m, k);
}

/** C[N, K] = A[N, M] · B[M, K] (the gradient of the layer's input: dx = dy · W). */
export function matmulNn(kernels: Kernels, { a, b, c, addend = 0, n, m, k }: Product): void {
  kernels.product(a, m, false, b, k, true, c, k, addend, n, k, m);
}

/** C[M, K] = A[N, M]ᵀ · B[N, K] (the gradient of the weight: dW = dyᵀ · x). */
export function matmulTn(kernels: Kernels, { a, b, c, addend = 0, n, m, k }: Product): void {
  kernels.product(a, m, true, b, k, true, c, k, addend, m, k, n);
}

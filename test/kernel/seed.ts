/** Inputs are fresh in every run of the suite; KERNEL_SEED, printed with every failure, brings a run's inputs back. */
export const kernelSeed = (): string =>
  process.env.KERNEL_SEED ?? String(crypto.getRandomValues(new Uint32Array(1))[0]);

/** Shape of a learning-rate schedule; steps count from 0. */
export interface Schedule {
  peak: number;
  steps: number;
  /** Steps of linear warm-up. */
  warmup: number;
  /** Share of the peak that is left at the last step. */
  final: number;
}

/** Linear warm-up to the peak, then linear decay to `final · peak` at the last step. */
export function learningRate(step: number, { peak, steps, warmup, final }: Schedule): number {
  if (step < warmup) return (peak * (step + 1)) / warmup;
  const span = Math.max(1, steps - 1 - warmup);
  const done = Math.min(1, (step - warmup) / span);
  return peak * (1 - (1 - final) * done);
}

import type { BenchRow } from './row.ts';

/** What was measured on. */
export interface BenchDevice {
  backend: 'webgpu' | 'cpu';
  name: string;
  /** Empty on the processor. */
  limits: Record<string, number>;
  features: string[];
}

/** What a run of the benchmark says as it goes. */
export type BenchEvent =
  | { type: 'device'; device: BenchDevice }
  | { type: 'progress'; what: string; done: number; of: number }
  | { type: 'row'; row: BenchRow }
  /** A library that was used, at its version. */
  | { type: 'version'; name: string; version: string }
  /** Something that a reader of the table should know. */
  | { type: 'remark'; text: string };

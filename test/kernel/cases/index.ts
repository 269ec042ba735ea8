import { attentionCases } from './attention.ts';
import type { KernelCase } from './case.ts';
import { lossCases } from './loss.ts';
import { matmulCases } from './matmul.ts';
import { mlpCases } from './mlp.ts';
import { optimiserCases } from './optimiser.ts';
import { rowCases } from './rows.ts';
import { sampleCases } from './sample.ts';

/** Every case; together they prove every file of shaders/. */
export const CASES: readonly KernelCase[] = [
  ...rowCases,
  ...attentionCases,
  ...matmulCases,
  ...mlpCases,
  ...lossCases,
  ...optimiserCases,
  ...sampleCases,
];

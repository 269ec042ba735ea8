// npm run mutants [-- kernel …]: changes each token of the kernels' texts in turn and asks their proofs to notice. How
// each change ended is kept in test-results/mutants.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensurePackages, root } from './setup.mjs';

ensurePackages();
const { gpuEnvironment } = await import('./gpu-env.mjs');
const env = { ...gpuEnvironment(), KERNEL_MUTANTS: process.argv.slice(2).join(' ') || 'all' };
const args = ['run', 'test/kernel/mutants.test.ts', '--disable-console-intercept'];
const { status } = spawnSync(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...args], {
  cwd: root,
  stdio: 'inherit',
  env,
});
process.exit(status ?? 1);

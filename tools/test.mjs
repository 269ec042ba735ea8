// npm test: set up, then style, types and tests; the last line counts them.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ensureChromium, ensurePackages, root } from './setup.mjs';

ensurePackages();
const chromium = ensureChromium();
const { buildLab, buildPage } = await import('./build.mjs');
const { gpuEnvironment } = await import('./gpu-env.mjs');
const env = { ...gpuEnvironment(), CHROMIUM_PATH: chromium };

/** @param {string} title @param {string} command @param {string[]} args */
function run(title, command, args) {
  console.log(`\n# ${title}`);
  return (
    spawnSync(process.execPath, [join(root, 'node_modules', command), ...args], {
      cwd: root,
      stdio: 'inherit',
      env,
    }).status === 0
  );
}

const results = [];
results.push(run('Style (biome)', '@biomejs/biome/bin/biome', ['ci', '--error-on-warnings', '.']));
results.push(
  run('Types (svelte-check)', 'svelte-check/bin/svelte-check', [
    '--tsconfig',
    './tsconfig.json',
    '--fail-on-warnings',
    '--output',
    'human',
  ]),
);
await buildPage();
await buildLab();

const report = join(root, 'test-results', 'vitest.json');
mkdirSync(join(root, 'test-results'), { recursive: true });
rmSync(report, { force: true });
const only = process.argv.slice(2);
results.push(
  run('Tests (vitest)', 'vitest/vitest.mjs', [
    'run',
    ...only,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ]),
);

let counts = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 };
try {
  counts = JSON.parse(readFileSync(report, 'utf8'));
} catch {
  results.push(false);
}
const failed = counts.numFailedTests + results.filter((ok) => !ok).length;
const passed = counts.numPassedTests + results.filter((ok) => ok).length;
const skipped = counts.numPendingTests + counts.numTodoTests;
console.log(`\n${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`);
process.exit(failed === 0 && counts.numPassedTests > 0 ? 0 : 1);

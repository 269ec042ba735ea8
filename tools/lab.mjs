// npm run lab -- …: builds the command line if it is out of date and hands over to it.
import { spawn } from 'node:child_process';
import { ensurePackages, findChromium, root } from './setup.mjs';

ensurePackages();
const { buildLab } = await import('./build.mjs');
const { gpuEnvironment } = await import('./gpu-env.mjs');
const entry = await buildLab();
const env = gpuEnvironment();
const chromium = findChromium();
if (chromium) env.CHROMIUM_PATH = chromium;
env.ROLLOUT_LAB_ROOT = root;
const child = spawn(
  process.execPath,
  ['--enable-source-maps', '--max-old-space-size=8192', entry, ...process.argv.slice(2)],
  { stdio: 'inherit', env },
);
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? (signal ? 130 : 1)));

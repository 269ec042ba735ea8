// Builds the page or the command line, when a source is newer than what was built last.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './setup.mjs';

const SOURCES = [
  'index.html',
  'package.json',
  'vite.config.ts',
  'svelte.config.js',
  'tools/wasm-kernels.mjs',
  'src',
  'shaders',
  'workers',
  'public',
];

/** @param {string} path @returns {number} newest modification time below `path`, milliseconds */
function newest(path) {
  if (!existsSync(path)) return 0;
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return readdirSync(path).reduce((latest, name) => Math.max(latest, newest(join(path, name))), stat.mtimeMs);
}

/** @param {string} output a file that the build writes */
function isFresh(output) {
  if (!existsSync(output)) return false;
  const built = statSync(output).mtimeMs;
  return SOURCES.every((source) => newest(join(root, source)) <= built);
}

/** The page, into dist/. */
export async function buildPage() {
  if (isFresh(join(root, 'dist', 'index.html'))) return;
  const { build } = await import('vite');
  await build({ root, logLevel: 'warn' });
}

/** The command line, into .cache/lab/. @returns {Promise<string>} path of its entry */
export async function buildLab() {
  const entry = join(root, '.cache', 'lab', 'main.js');
  if (isFresh(entry)) return entry;
  const { build } = await import('vite');
  await build({
    root,
    logLevel: 'error',
    publicDir: false,
    build: {
      ssr: 'src/cli/main.ts',
      outDir: '.cache/lab',
      emptyOutDir: true,
      target: 'node20',
      rollupOptions: { output: { entryFileNames: '[name].js' } },
    },
  });
  return entry;
}

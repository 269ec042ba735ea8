// A Vite plugin: `import base64 from './kernels/index.ts?assembly'` compiles AssemblyScript to WebAssembly with SIMD.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { root } from './setup.mjs';

const QUERY = '?assembly';
const FLAGS = [
  ...['--runtime', 'stub', '--noAssert', '--use', 'abort='],
  ...['--enable', 'simd', '--importMemory', '--noExportMemory'],
  ...['--optimizeLevel', '3', '--shrinkLevel', '0', '--converge'],
  // No function that exchanges vectors with JavaScript is exported from the entry.
  ...['--disableWarning', '112'],
];

/** @param {string} entry path of an AssemblyScript file @returns {string[]} all files of its folder, which are its sources */
function sourcesOf(entry) {
  const folder = dirname(entry);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => join(folder, name));
}

/** @param {string[]} sources @returns {string} a name for the result: it changes with sources, flags and compiler */
function hashOf(sources) {
  const { version } = createRequire(import.meta.url)('assemblyscript/package.json');
  const hash = createHash('sha256').update(JSON.stringify([version, FLAGS]));
  for (const file of sources) hash.update(basename(file)).update(readFileSync(file));
  return hash.digest('hex').slice(0, 32);
}

/** @param {string} entry @returns {Promise<Uint8Array>} @throws Error with the compiler's messages */
async function compile(entry) {
  const { main } = await import('assemblyscript/asc');
  /** @type {Uint8Array | undefined} */
  let binary;
  const { error, stderr } = await main(
    [basename(entry), '--baseDir', dirname(entry), '--outFile', 'kernels.wasm', ...FLAGS],
    {
      /** @param {string} _ @param {Uint8Array | string} contents */
      writeFile: (_, contents) => {
        if (typeof contents !== 'string') binary = contents;
      },
    },
  );
  if (error || !binary) throw new Error(`${entry} does not compile\n${stderr}`, { cause: error });
  return binary;
}

/** @param {string} entry @param {string[]} sources @returns {Promise<Uint8Array>} from .cache/kernels/ where it lies there */
async function compileOnce(entry, sources) {
  const file = join(root, '.cache', 'kernels', `${hashOf(sources)}.wasm`);
  try {
    return readFileSync(file);
  } catch {
    const binary = await compile(entry);
    mkdirSync(dirname(file), { recursive: true });
    // Written beside and moved: another process sees all of it or nothing.
    writeFileSync(`${file}.${process.pid}`, binary);
    renameSync(`${file}.${process.pid}`, file);
    return binary;
  }
}

/** @returns {import('vite').Plugin} */
export function wasmKernels() {
  return {
    name: 'wasm-kernels',
    enforce: 'pre',
    async load(id) {
      if (!id.endsWith(QUERY)) return null;
      const entry = id.slice(0, -QUERY.length);
      const sources = sourcesOf(entry);
      for (const file of sources) this.addWatchFile(file);
      const binary = await compileOnce(entry, sources);
      const base64 = Buffer.from(binary).toString('base64');
      return { code: `export default '${base64}';`, map: null, moduleType: 'js' };
    },
  };
}

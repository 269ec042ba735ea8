import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright';
import { build, type PreviewServer, preview } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CASES } from '../kernel/cases/index.ts';
import type { KernelPage } from '../kernel/page/main.ts';
import { kernelSeed } from '../kernel/seed.ts';
import { CHROMIUM, FLAGS, hasChromium } from './lab-page.ts';

const seed = kernelSeed();
const root = fileURLToPath(new URL('../kernel/page', import.meta.url));
const shaders = readdirSync(new URL('../../shaders', import.meta.url)).map((file) =>
  file.replace('.wgsl', ''),
);

/** A window of the page of kernel proofs. */
type KernelWindow = Window & { kernelPage: KernelPage };

/** The cases that Dawn runs in Node, each variant of each kernel, in a browser; at `brief` counts of rows alone. */
describe.skipIf(!hasChromium)(`kernels in Chromium (KERNEL_SEED=${seed})`, { timeout: 120_000 }, () => {
  const outDir = mkdtempSync(join(tmpdir(), 'rollout-lab-kernels-'));
  let browser: Browser;
  let server: PreviewServer;
  let page: Page;
  const ran = new Set<string>();
  const faults: string[] = [];

  beforeAll(async () => {
    const shared = { root, configFile: false, logLevel: 'error' } as const;
    await build({ ...shared, build: { outDir, emptyOutDir: true, target: 'es2023' } });
    server = await preview({ ...shared, build: { outDir }, preview: { host: 'localhost', port: 0 } });
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ['--enable-unsafe-webgpu', ...FLAGS],
    });
    page = await browser.newPage();
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    page.on('pageerror', (error) => faults.push(error.message));
    await page.goto(server.resolvedUrls?.local[0] ?? '');
    await page.waitForFunction(() => 'kernelPage' in window);
    const name = await page.evaluate(() => (window as unknown as KernelWindow).kernelPage.open());
    expect(name).not.toBe('');
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    rmSync(outDir, { recursive: true, force: true });
  });

  it.for(CASES.map(({ name }) => name))('%s', async (name, { skip }) => {
    const verdict = await page.evaluate(
      (asked) => (window as unknown as KernelWindow).kernelPage.prove(...asked),
      [name, seed] as [string, string],
    );
    skip(verdict.skipped !== null, verdict.skipped ?? '');
    expect(verdict.failures).toEqual([]);
    const { proves } = CASES.find((one) => one.name === name)!;
    expect(verdict.labels.sort()).toEqual([...proves].sort());
    for (const label of verdict.labels) ran.add(label);
  });

  it('ran, every one of them, without an error on the console', () => {
    expect([...ran].sort()).toEqual(shaders.sort());
    expect(faults).toEqual([]);
  });
});

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { JSHandle } from 'playwright';
import { LabError } from '../base/errors.ts';
import type { Services } from '../lab/services.ts';
import type { LearnEvent } from '../methods/method.ts';

/** A headless Chromium in which policies train. */
export interface ChromiumPage {
  learn: Services['learn'];
  close(): Promise<void>;
}

/** WebGPU also without a graphics driver, and nothing that talks to the network by itself. */
const FLAGS = [
  '--enable-unsafe-webgpu',
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
];

/** What the page offers to scripts (`src/ui/console.ts`). */
declare global {
  var rolloutLab: Pick<Services, 'learn'> | undefined;
}

/** Builds and serves the page on a free port of this machine and opens it in headless Chromium. @throws LabError where there is none. */
export async function openChromium(): Promise<ChromiumPage> {
  const executablePath = process.env.CHROMIUM_PATH;
  if (!executablePath)
    throw new LabError('no Chromium or Chrome was found', {
      where: '--gpu chromium',
      remedy: 'install one (apt-get install chromium) or set CHROMIUM_PATH',
    });
  const root = process.env.ROLLOUT_LAB_ROOT ?? process.cwd();
  const { buildPage } = await import(pathToFileURL(join(root, 'tools/build.mjs')).href);
  await buildPage();
  const { preview } = await import('vite');
  const server = await preview({
    root,
    logLevel: 'silent',
    preview: { host: 'localhost', port: 0, open: false },
  });
  const { chromium } = await import('playwright');
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  const close = async () => {
    await browser.close();
    await server.close();
  };
  try {
    const page = await browser.newPage();
    await page.goto(server.resolvedUrls?.local[0] ?? 'http://localhost:4173/');
    await page.waitForFunction(() => globalThis.rolloutLab !== undefined);
    return {
      close,
      learn: (spec, tasks, resume) =>
        pull(
          page.evaluateHandle(
            // Typed as unknown on the way: the recursive JSON types are too deep for Playwright's own.
            (input: unknown) => {
              const events = globalThis.rolloutLab?.learn(...(input as Parameters<Services['learn']>));
              if (!events) throw new Error('the page is gone');
              return events[Symbol.asyncIterator]();
            },
            [spec, tasks, resume] as unknown,
          ),
        ),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Events of an iterator that lives in the page, one evaluation each. */
async function* pull(opening: Promise<JSHandle<AsyncIterator<LearnEvent>>>): AsyncGenerator<LearnEvent> {
  const iterator = await opening;
  try {
    for (;;) {
      const { done, value } = await iterator.evaluate((source) => source.next());
      if (done) return;
      yield value;
    }
  } finally {
    await iterator.evaluate((source) => source.return?.()).catch(() => undefined);
    await iterator.dispose();
  }
}

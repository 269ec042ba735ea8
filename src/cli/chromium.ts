import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, JSHandle, Page } from 'playwright';
import { LabError } from '../base/errors.ts';
import { type Outcome, unwrap } from '../lab/outcome.ts';
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
  const address = server.resolvedUrls?.local[0] ?? 'http://localhost:4173/';
  let opened: Promise<Opened> | null = null;
  const current = async (): Promise<Page> => {
    opened ??= openPage(executablePath, address);
    const opening = opened;
    const { browser, page } = await opening;
    if (browser.isConnected()) return page;
    // A browser that broke down is replaced by another.
    if (opened === opening) opened = openPage(executablePath, address);
    return (await opened!).page;
  };
  const close = async () => {
    await opened?.then(({ browser }) => browser.close()).catch(() => undefined);
    await server.close();
  };
  try {
    await current();
    return {
      close,
      learn: (...input) => pull(current, input),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Opened {
  browser: Browser;
  page: Page;
}

async function openPage(executablePath: string, address: string): Promise<Opened> {
  const { chromium } = await import('playwright');
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  try {
    const page = await browser.newPage();
    await page.goto(address);
    await page.waitForFunction(() => globalThis.rolloutLab !== undefined);
    return { browser, page };
  } catch (error) {
    await browser.close();
    throw error;
  }
}

type Next = Outcome<IteratorResult<LearnEvent, undefined>>;

/**
 * Events of an iterator that lives in the page, one evaluation each.
 * @throws the page's own errors; LabError of kind "worker lost" where the page or its browser is gone.
 */
async function* pull(
  current: () => Promise<Page>,
  input: Parameters<Services['learn']>,
): AsyncGenerator<LearnEvent> {
  const page = await current();
  let iterator: JSHandle<AsyncIterator<LearnEvent>> | undefined;
  try {
    iterator = await page.evaluateHandle(
      // Typed as unknown on the way: the recursive JSON types are too deep for Playwright's own.
      (all: unknown) => {
        const events = globalThis.rolloutLab?.learn(...(all as Parameters<Services['learn']>));
        if (!events) throw new Error('the page is gone');
        return events[Symbol.asyncIterator]();
      },
      input as unknown,
    );
    for (;;) {
      const { done, value } = unwrap(await next(iterator));
      if (done) return;
      yield value;
    }
  } catch (cause) {
    const answers = cause instanceof LabError || (await page.evaluate(() => true).catch(() => false));
    if (answers) throw cause;
    await page.context().browser()?.close();
    throw new LabError('the browser that trains broke down', {
      where: '--gpu chromium',
      remedy: 'run again with --resume, or with --gpu none',
      kind: 'worker lost',
      cause,
    });
  } finally {
    await iterator?.evaluate((source) => source.return?.()).catch(() => undefined);
    await iterator?.dispose().catch(() => undefined);
  }
}

/** Errors come as data: Playwright keeps of a thrown one only its message. */
const next = (iterator: JSHandle<AsyncIterator<LearnEvent>>): Promise<Next> =>
  iterator.evaluate(async (source): Promise<Next> => {
    try {
      return { ok: true, value: (await source.next()) as IteratorResult<LearnEvent, undefined> };
    } catch (cause) {
      const error = cause as LabError;
      const lab = error.name === 'LabError';
      const [where, remedy, kind] = lab ? [error.where, error.remedy, error.kind] : ['', '', null];
      return { ok: false, error: { lab, message: String(error.message ?? cause), where, remedy, kind } };
    }
  });

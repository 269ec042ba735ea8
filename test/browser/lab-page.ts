import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright';
import { build, type PreviewServer, preview } from 'vite';

export const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
export const hasChromium = existsSync(CHROMIUM);

export const FLAGS = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
];

/** The built page, served under a sub-path as a static host would, and a browser. */
export interface Lab {
  address: string;
  browser: Browser;
  close(): Promise<void>;
}

/** A page with everything that went wrong on it. */
export interface GuardedPage {
  context: BrowserContext;
  page: Page;
  /** Console errors, uncaught errors, violations of the content security policy. */
  faults: string[];
  /** Requests to other origins. */
  foreign: string[];
}

/** Builds and serves the page. @param gpu whether the browser offers WebGPU; without it the processor trains. */
export async function openLab(options: { gpu: boolean }): Promise<Lab> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  // A build of its own: test files run side by side, and nobody may serve what another is writing.
  const outDir = mkdtempSync(join(tmpdir(), 'rollout-lab-page-'));
  await build({ root, logLevel: 'error', build: { outDir, emptyOutDir: true } });
  const server: PreviewServer = await preview({
    root,
    base: '/lab/',
    logLevel: 'silent',
    build: { outDir },
    preview: { host: 'localhost', port: 0, open: false },
  });
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: options.gpu ? ['--enable-unsafe-webgpu', ...FLAGS] : FLAGS,
  });
  return {
    address: server.resolvedUrls?.local[0] ?? '',
    browser,
    close: async () => {
      await browser.close();
      await server.close();
      rmSync(outDir, { recursive: true, force: true });
    },
  };
}

/** A fresh profile with one page, watched. */
export async function openPage(lab: Lab, fragment = '', context?: BrowserContext): Promise<GuardedPage> {
  const own = context ?? (await lab.browser.newContext({ viewport: { width: 1440, height: 900 } }));
  const page = await own.newPage();
  const faults: string[] = [];
  const foreign: string[] = [];
  page.on('console', (message) => {
    // The recorded run is optional: a host without it answers 404, which Chromium reports as an error by itself.
    if (message.type() === 'error' && !message.location().url.includes('/recorded/'))
      faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (/^https?:$/.test(url.protocol) && url.origin !== new URL(lab.address).origin)
      foreign.push(request.url());
  });
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  page.on('dialog', (dialog) => void dialog.accept());
  await page.goto(lab.address + fragment);
  await page.getByRole('heading', { level: 1 }).waitFor();
  return { context: own, page, faults, foreign };
}

/** A configuration that runs in seconds. */
export function tiny(settings: Record<string, number> = {}): string {
  const all = {
    trajectories: 100,
    tasks: 60,
    heldOut: 20,
    steps: 20,
    tokens: 256,
    evaluateEvery: 20,
    ...settings,
  };
  const fields = Object.entries(all).map(([key, value]) => `set.${key}=${value}`);
  return `#/toolspace?v=1&preset=micro&seed=3&set.width=32&set.layers=1&${fields.join('&')}`;
}

export const runButton = (page: Page) => page.getByRole('button', { name: /^Train / });
/** Trains on the graphics device from now on, though it is one in software. */
export async function trainOnGraphics(page: Page): Promise<void> {
  await page.getByLabel('Train on').selectOption('webgpu');
  await page.getByText(/the processor would train faster/).waitFor({ timeout: 60_000 });
}

export const logText = (page: Page) => page.getByRole('log', { name: 'Run log' });

/** Waits for a line of the run's log. */
export async function untilLogged(page: Page, line: RegExp, timeout = 90_000): Promise<void> {
  await logText(page).getByText(line).first().waitFor({ timeout });
}

/** What the page exports of the newest stored run. */
export async function exported(
  page: Page,
): Promise<{ run: Record<string, unknown>; events: Record<string, unknown>[] }> {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'JSON' }).first().click(),
  ]);
  return JSON.parse(readFileSync(await file.path(), 'utf8'));
}

/** Losses by step and the final figures: what two runs of one configuration must agree in, bit for bit. */
export function numbers({ run, events }: Awaited<ReturnType<typeof exported>>) {
  const losses = events.flatMap((event) =>
    event.type === 'steps'
      ? (event.stats as { step: number; loss: number }[]).map(({ step, loss }) => [step, loss])
      : [],
  );
  const summary = run.summary as { arms: unknown; taskSet: unknown };
  return { losses, arms: summary.arms, taskSet: summary.taskSet };
}

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  exported,
  hasChromium,
  type Lab,
  logText,
  numbers,
  openLab,
  openPage,
  runButton,
  tiny,
  trainOnGraphics,
  untilLogged,
} from './lab-page.ts';

describe.skipIf(!hasChromium)('a run on the page, without WebGPU', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await openLab({ gpu: false });
  }, 120_000);
  afterAll(() => lab?.close());

  it('goes from one click to graph, walks, tasks, training and figures', async () => {
    const { page, context, faults, foreign } = await openPage(lab, tiny());
    await page.getByText(/No WebGPU: .*WebAssembly SIMD/).waitFor();
    await runButton(page).click();
    await untilLogged(page, /^.*Done in/);
    expect(await page.locator('[data-node]').count()).toBeGreaterThan(5);
    expect(await page.locator('[data-edge]').count()).toBeGreaterThan(5);
    expect(await page.getByText(/Task set/).textContent()).toMatch(
      /Task set [0-9a-f]{14}: \d+ to train on, 20 unseen/,
    );

    await page.getByRole('button', { name: 'Next move' }).click();
    await page.getByText(/Walk \d+, move \d+ of \d+/).waitFor();
    const edge = page.locator('[data-edge]').first();
    await edge.focus();
    await page.keyboard.press('Enter');
    const detail = page.getByRole('region', { name: 'Edge', exact: true });
    expect(await detail.getByRole('row').count()).toBeGreaterThan(1);

    await page.locator('.list .row').first().click();
    await page.getByText('Replayed from the first state: every assertion held.').waitFor();
    const chart = page.getByRole('img', { name: /Success on unseen tasks/ });
    expect(await chart.getAttribute('aria-label')).toContain('trained');
    await page.getByRole('region', { name: 'trained', exact: true }).getByText('Request').first().waitFor();
    expect(faults).toEqual([]);
    expect(foreign).toEqual([]);
    await context.close();
  }, 120_000);

  it('pauses, steps, resumes and stops', async () => {
    const { page, context, faults } = await openPage(lab, tiny({ steps: 2000, evaluateEvery: 2000 }));
    await runButton(page).click();
    await page.getByText(/^Training, trained/).waitFor({ timeout: 60_000 });
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByText(/^Paused: Training/).waitFor();
    const amount = page.locator('.amount');
    await page.waitForTimeout(400);
    const paused = await amount.textContent();
    await page.waitForTimeout(1200);
    expect(await amount.textContent()).toBe(paused);
    // A step takes one piece of news; within a few of them the count of steps has moved.
    for (let i = 0; i < 4; i++) await page.getByRole('button', { name: 'Step', exact: true }).click();
    await expect.poll(() => amount.textContent()).not.toBe(paused);
    const stepped = await amount.textContent();
    await page.getByRole('button', { name: 'Resume', exact: true }).first().click();
    await expect.poll(() => amount.textContent(), { timeout: 10_000 }).not.toBe(stepped);
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await untilLogged(page, /Stopped\. It can be resumed/);
    await runButton(page).waitFor();
    expect(faults).toEqual([]);
    await context.close();
  }, 120_000);

  it('continues a run after a reload to the numbers of an unbroken one', async () => {
    const link = tiny({ steps: 1500, evaluateEvery: 100 });
    const whole = await openPage(lab, link);
    await runButton(whole.page).click();
    await untilLogged(whole.page, /Done in/);
    const expected = numbers(await exported(whole.page));
    await whole.context.close();

    const { page, context, faults } = await openPage(lab, link);
    await runButton(page).click();
    await untilLogged(page, /checkpoint of step 100/);
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    const other = await openPage(lab, link, context);
    await other.page.getByRole('button', { name: 'Resume', exact: true }).click();
    await other.page
      .getByText(/This run is under way in another tab/)
      .first()
      .waitFor();
    await other.page.close();
    await page.reload();
    await page.getByText('interrupted').waitFor();
    await page.getByRole('button', { name: 'Resume', exact: true }).first().click();
    await untilLogged(page, /Done in/);
    expect(await logText(page).textContent()).toContain('Resumed.');
    const resumed = numbers(await exported(page));
    expect(resumed.losses.length).toBe(1500);
    expect(resumed).toEqual(expected);
    expect(faults).toEqual([]);
    await context.close();
  }, 180_000);

  it('deletes a stored run and brings it back', async () => {
    const { page, context } = await openPage(lab, tiny({ steps: 10, evaluateEvery: 10 }));
    await runButton(page).click();
    await untilLogged(page, /Done in/);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No run is stored in this browser yet.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Show', exact: true }).waitFor();
    await page.reload();
    // The newest stored run is on show after a reload.
    await page.getByText(/Task set [0-9a-f]{14}/).waitFor();
    await page.locator('[data-node]').first().waitFor();
    expect(await page.locator('[data-node]').count()).toBeGreaterThan(5);
    await context.close();
  }, 120_000);

  it('keeps the main thread free while a run goes on', async () => {
    const { page, context } = await openPage(lab, tiny({ tasks: 600, steps: 60, evaluateEvery: 20 }));
    await page.getByText('What can').first().waitFor();
    await page.waitForTimeout(1500);
    await lab.browser.startTracing(page, {
      categories: ['toplevel', 'disabled-by-default-devtools.timeline'],
    });
    await runButton(page).click();
    await untilLogged(page, /Done in/);
    const trace = JSON.parse((await lab.browser.stopTracing()).toString('utf8')) as {
      traceEvents: TraceEvent[];
    };
    const tasks = mainThreadTasks(trace.traceEvents);
    expect(tasks.length).toBeGreaterThan(100);
    // Processor time of the thread: what the page itself does, whatever else this machine is busy with.
    const longest = Math.max(...tasks.map((task) => task.tdur ?? 0)) / 1000;
    console.log(`longest task on the main thread: ${longest.toFixed(1)} ms of processor time`);
    expect(longest).toBeLessThan(50);
    await context.close();
  }, 120_000);
});

describe.skipIf(!hasChromium)('a run on the page, with WebGPU', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await openLab({ gpu: true });
  }, 120_000);
  afterAll(() => lab?.close());

  it('trains on the processor where WebGPU is software, and on the device where that is chosen', async () => {
    const { page, context, faults, foreign } = await openPage(lab, tiny());
    await page.getByText(/WebGPU runs in software here.*\(WebAssembly SIMD\), which is faster/).waitFor();
    await page.getByText(/parameters needs about \d+ MB of the processor's memory/).waitFor();
    await trainOnGraphics(page);
    await page.getByText(/parameters needs [\d.]+ MB on the graphics device/).waitFor();
    await runButton(page).click();
    await untilLogged(page, /Done in/, 120_000);
    expect(await logText(page).textContent()).toMatch(/\(WebGPU\)/);
    await page.reload();
    expect(await page.getByLabel('Train on').inputValue()).toBe('webgpu');
    expect(faults).toEqual([]);
    expect(foreign).toEqual([]);
    await context.close();
  }, 150_000);
});

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  dur?: number;
  tdur?: number;
  args: { name?: string };
}

/** Tasks of the busiest renderer's main thread; `dur` and `tdur` in microseconds. */
function mainThreadTasks(events: readonly TraceEvent[]): TraceEvent[] {
  const names = events.filter(
    (event) => event.name === 'thread_name' && event.args.name === 'CrRendererMain',
  );
  const threads = names.map(({ pid, tid }) =>
    events.filter(
      (event) => event.pid === pid && event.tid === tid && event.ph === 'X' && /RunTask$/.test(event.name),
    ),
  );
  return threads.reduce((most, thread) => (thread.length > most.length ? thread : most), []);
}

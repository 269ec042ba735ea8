import { readFileSync } from 'node:fs';
import type { Page, Worker } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSafetensors } from '../../src/policy/safetensors.ts';
import {
  exported,
  hasChromium,
  type Lab,
  numbers,
  openLab,
  openPage,
  runButton,
  tiny,
  trainOnGraphics,
  untilLogged,
} from './lab-page.ts';

/** The worker that trains. */
async function policyWorker(page: Page): Promise<Worker> {
  const find = () => page.workers().find((worker) => /policy/.test(worker.url()));
  await expect.poll(find).toBeDefined();
  return find()!;
}

describe.skipIf(!hasChromium)('a run on the page that loses its device', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await openLab({ gpu: true });
  }, 120_000);
  afterAll(() => lab?.close());

  it('says so, goes on to the numbers of an undisturbed run, and outlives its worker', async () => {
    const link = tiny({ steps: 40, evaluateEvery: 10 });
    const { page, context, faults } = await openPage(lab, link);
    await trainOnGraphics(page);
    await runButton(page).click();
    await untilLogged(page, /Done in/, 120_000);
    const whole = numbers(await exported(page));

    // From outside, through the debugger: the device is destroyed under the product at the 60th piece of work from now on.
    const worker = await policyWorker(page);
    await worker.evaluate(() => {
      const proto = GPUDevice.prototype;
      const create = proto.createCommandEncoder;
      let left = 60;
      proto.createCommandEncoder = function (descriptor) {
        if (--left === 0) this.destroy();
        return create.call(this, descriptor);
      };
    });
    await runButton(page).click();
    await untilLogged(page, /The graphics device was lost/, 120_000);
    const news = page.getByRole('status').filter({ hasText: /The graphics device was lost/ });
    expect(await news.textContent()).toMatch(
      /The graphics device was lost .*; (training goes on from step \d+|it starts again from the initial weights)\./,
    );
    await untilLogged(page, /Done in/, 120_000);
    expect(numbers(await exported(page))).toEqual(whole);

    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Checkpoint', exact: true }).first().click(),
    ]);
    expect(file.suggestedFilename()).toMatch(/-step-40\.safetensors$/);
    const checkpoint = readSafetensors(readFileSync(await file.path()));
    expect(checkpoint).toMatchObject({ step: 40, training: { run: { arm: 'trained', seed: 3 } } });
    expect(faults).toEqual([]);

    // The worker itself breaks down in the middle of a run: at the 60th piece of work from now on.
    await worker.evaluate(() => {
      const proto = GPUDevice.prototype;
      const create = proto.createCommandEncoder;
      let left = 60;
      proto.createCommandEncoder = function (descriptor) {
        if (--left === 0)
          setTimeout(() => {
            throw new Error('broken on purpose');
          });
        return create.call(this, descriptor);
      };
    });
    await runButton(page).click();
    await untilLogged(page, /The worker that trains broke down .*; training goes on from step \d+\./, 30_000);
    await untilLogged(page, /Done in/, 120_000);
    expect(numbers(await exported(page))).toEqual(whole);
    expect(page.workers().filter((one) => /policy/.test(one.url()))).not.toContain(worker);
    await context.close();
  }, 240_000);

  it('goes on in another browser from a downloaded checkpoint, to the same figures', async () => {
    const link = tiny({ steps: 1500, evaluateEvery: 100 });
    const first = await openPage(lab, link);
    await runButton(first.page).click();
    await untilLogged(first.page, /checkpoint of step 100/, 120_000);
    await first.page.getByRole('button', { name: 'Stop', exact: true }).click();
    await untilLogged(first.page, /Stopped/);
    const [download] = await Promise.all([
      first.page.waitForEvent('download'),
      first.page.getByRole('button', { name: 'Checkpoint', exact: true }).first().click(),
    ]);
    const path = await download.path();
    const { step } = readSafetensors(readFileSync(path));
    expect(step).toBeLessThan(1500);
    await first.page.getByRole('button', { name: 'Resume', exact: true }).first().click();
    await untilLogged(first.page, /Done in/, 120_000);
    const whole = numbers(await exported(first.page));

    const { page, context, faults } = await openPage(lab);
    await page.getByLabel(/Go on from a checkpoint file/).setInputFiles(path);
    await page.getByText(`trained, checkpoint of step ${step}`).waitFor();
    await page.getByRole('button', { name: 'Resume', exact: true }).first().click();
    await untilLogged(page, /Done in/, 120_000);
    const rest = numbers(await exported(page));
    expect(rest.arms).toEqual(whole.arms);
    expect(rest.losses).toEqual(whole.losses.filter(([at]) => at! > step));
    await page
      .getByLabel(/Go on from a checkpoint file/)
      .setInputFiles({ name: 'x.safetensors', mimeType: '', buffer: Buffer.from('nothing') });
    await page
      .getByRole('alert')
      .getByText(/even an empty file has 8/)
      .waitFor();
    expect(faults).toEqual([]);
    await context.close();
    await first.context.close();
  }, 240_000);
});

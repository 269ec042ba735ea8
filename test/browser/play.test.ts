import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toolspace } from '../../src/methods/toolspace/experiment.ts';
import type { Checkpoint } from '../../src/policy/engine.ts';
import type { Task } from '../../src/task/model.ts';
import { tinyPolicy } from '../lab/tiny-policy.ts';
import { hasChromium, type Lab, openLab, openPage } from './lab-page.ts';
import { storeRun } from './stored-run.ts';

describe.skipIf(!hasChromium)('playing a stored policy on the page', () => {
  let lab: Lab;
  let policy: { task: Task; checkpoint: Checkpoint };
  beforeAll(async () => {
    [lab, policy] = await Promise.all([openLab({ gpu: true }), tinyPolicy()]);
  }, 120_000);
  afterAll(() => lab?.close());

  it('acts through ONNX Runtime on the processor and on the device, and agrees with the engine', async () => {
    const { page, context, faults, foreign } = await openPage(lab);
    const runtime: string[] = [];
    page.on('request', (request) => {
      if (/ort[-.]/.test(request.url())) runtime.push(request.url());
    });
    await page.getByText('A recorded run keeps no policy', { exact: false }).waitFor();
    const spec = {
      method: toolspace.id,
      preset: 'micro' as const,
      config: toolspace.presets.micro ?? {},
      arms: ['trained'],
      seed: 3,
    };
    await storeRun(page, { spec, arm: 'trained', checkpoint: policy.checkpoint, heldOut: [policy.task] });
    await page.reload();
    const play = page.locator('#play');
    await play.getByRole('button', { name: 'Open the policy' }).focus();
    await page.keyboard.press('Enter');
    await play.getByText(/checkpoint of step 80 \(trained\)/).waitFor();
    // Nothing of the runtime before it is asked for.
    expect(runtime).toEqual([]);

    for (const provider of ['wasm', 'webgpu']) {
      await play.getByLabel('Where').selectOption(provider);
      await play.getByRole('button', { name: 'Play this task' }).focus();
      await page.keyboard.press('Enter');
      const where = provider === 'wasm' ? 'WebAssembly' : 'WebGPU';
      await play
        .getByText(new RegExp(`${where}, .*: the task is done, \\d+ tokens said`))
        .waitFor({ timeout: 60_000 });
      expect(await difference(page)).toBeLessThanOrEqual(1e-4);
      expect(await play.getByRole('listitem').count()).toBe(policy.task.chain.length + 1);
      expect(Number(/([\d.]+) tokens\/s/.exec((await play.textContent()) ?? '')?.[1])).toBeGreaterThan(0);
    }

    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      play.getByRole('button', { name: 'Save as .onnx' }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe('toolspace-trained-step-80.onnx');
    await play.getByLabel('Choose a teacher').setInputFiles(await saved.path());
    await play.getByText(/can teach here: a causal language model .* it is the student’s\./).waitFor();
    await dropTeacher(page, '<img src=x onerror=alert(1)>.onnx', 'this is no model');
    await play.getByText(/<img src=x.*cannot teach here\. .*this is no ONNX model/).waitFor();
    expect(await page.getByText('Drop trace files to read them').count()).toBe(0);

    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const { violations } = await new AxeBuilder({ page }).include('#play').analyze();
      expect(
        violations.map(({ id, nodes }) => `${colorScheme}: ${id} ${nodes[0]?.html.slice(0, 160)}`),
      ).toEqual([]);
    }
    await page.setViewportSize({ width: 320, height: 640 });
    expect(await page.evaluate(() => document.body.scrollWidth)).toBeLessThanOrEqual(320);
    expect(runtime.length).toBeGreaterThan(3);
    expect(runtime.every((url) => url.startsWith(lab.address))).toBe(true);
    expect(faults).toEqual([]);
    expect(foreign).toEqual([]);
    await context.close();
  }, 180_000);
});

/** The measured difference that the page states; NaN where it states none. */
async function difference(page: Page): Promise<number> {
  const text = (await page.locator('#play .agreement').textContent()) ?? '';
  const stated = /They agree: over \d+ tokens the largest difference .* is ([\d.]+(?:e−\d+)?), where/.exec(
    text,
  )?.[1];
  return Number(stated?.replace('−', '-'));
}

/** Drops a file where teachers are looked at, as a reader does with the mouse. */
async function dropTeacher(page: Page, name: string, text: string): Promise<void> {
  const files = await page.evaluateHandle(
    ([name, text]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text as string], name as string));
      return transfer;
    },
    [name, text],
  );
  const target = page.getByRole('group', { name: 'A teacher of your own' });
  await target.dispatchEvent('dragover', { dataTransfer: files });
  await target.dispatchEvent('drop', { dataTransfer: files });
}

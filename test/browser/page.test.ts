import { AxeBuilder } from '@axe-core/playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  exported,
  hasChromium,
  type Lab,
  logText,
  openLab,
  openPage,
  runButton,
  tiny,
  untilLogged,
} from './lab-page.ts';

/** A trace whose every text tries to become something else: markup, script, a prototype. */
const HOSTILE = JSON.stringify({
  messages: [
    { role: 'user', content: '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: 'a',
          type: 'function',
          function: {
            name: '<b onclick=pwned>get</b>',
            arguments: '{"__proto__":{"pwned":1},"id":"<svg onload=window.pwned=1>"}',
          },
        },
      ],
    },
    {
      role: 'tool',
      tool_call_id: 'a',
      content: '{"constructor":{"prototype":{"pwned":1}},"next":"<iframe srcdoc=x>-9917"}',
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: 'b',
          type: 'function',
          function: { name: 'javascript:alert(1)', arguments: '{"next":"<iframe srcdoc=x>-9917"}' },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'b', content: '{"ok":true}' },
  ],
});

describe.skipIf(!hasChromium)('the page', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await openLab({ gpu: false });
  }, 120_000);
  afterAll(() => lab?.close());

  it('says what Run will do before anything was run', async () => {
    const { page, context, faults, foreign } = await openPage(lab);
    await page.getByText(/Run mines a tool graph from traces/).waitFor();
    await page.getByRole('button', { name: /^Train [\d\s]+ steps$/ }).waitFor();
    await page.locator('.lesson .katex').first().waitFor();
    // KaTeX sets sizes as inline styles; under the page's policy they must still take effect.
    const sized = await page
      .locator('.lesson .katex .vlist-t')
      .first()
      .evaluate((element) => element.getBoundingClientRect().height);
    expect(sized).toBeGreaterThan(4);
    expect(faults).toEqual([]);
    expect(foreign).toEqual([]);
    await context.close();
  }, 60_000);

  it('opens a shared link in another browser with the same configuration and the same tasks', async () => {
    const first = await openPage(lab, tiny({ steps: 10, evaluateEvery: 10 }));
    await first.page.locator('summary', { hasText: 'Traces' }).click();
    await first.page.getByLabel('Trajectories', { exact: false }).first().fill('120');
    await first.page.keyboard.press('Tab');
    await first.page.getByRole('button', { name: 'Copy link to this configuration' }).click();
    const link = await first.page.getByLabel('Link to this configuration').inputValue();
    expect(link).toContain('set.trajectories=120');
    await runButton(first.page).click();
    await untilLogged(first.page, /Done in/);
    const second = await openPage(lab, link.slice(link.indexOf('#')));
    await runButton(second.page).click();
    await untilLogged(second.page, /Done in/);
    const hash = /Tasks [0-9a-f]{14}: [^.]*/;
    const ran = [first.page, second.page].map(
      async (page) => hash.exec((await logText(page).textContent()) ?? '')?.[0],
    );
    const [mine, theirs] = await Promise.all(ran);
    expect(mine).toBeTruthy();
    expect(theirs).toBe(mine);
    await first.context.close();
    await second.context.close();
  }, 120_000);

  it('plays a recorded run at once, and gives way to the reader’s own', async () => {
    const source = await openPage(lab, tiny({ steps: 10, evaluateEvery: 10 }));
    await runButton(source.page).click();
    await untilLogged(source.page, /Done in/);
    const { run, events } = await exported(source.page);
    await source.context.close();
    const recording = {
      version: 1,
      date: '2026-11-30T12:00:00.000Z',
      device: 'the test’s machine',
      spec: { method: 'toolspace', preset: run.preset, config: run.config, arms: run.arms, seed: run.seed },
      events: events.map((event) =>
        event.type === 'dataset' ? { ...event, of: { train: 9000, heldOut: 500 } } : event,
      ),
    };
    const context = await lab.browser.newContext({
      viewport: { width: 1440, height: 900 },
      reducedMotion: 'reduce',
    });
    await context.route('**/recorded/toolspace.json', (route) => route.fulfill({ json: recording }));
    const { page, faults } = await openPage(
      lab,
      tiny({ steps: 10, evaluateEvery: 10, trajectories: 60 }),
      context,
    );
    await page.getByText(/Recorded on 30 Nov 2026, .* on the test’s machine/).waitFor();
    await page.locator('[data-node]').first().waitFor();
    await page
      .getByText(/Task set [0-9a-f]{14}: 9\s000 to train on, 500 unseen; the recording shows \d+ of them/)
      .waitFor();
    await runButton(page).click();
    await untilLogged(page, /Done in/);
    await page.getByText(/^\s*Your run of/).waitFor();
    expect(await page.getByText(/Recorded on/).count()).toBe(0);
    expect(faults).toEqual([]);
    await context.close();
  }, 90_000);

  it.each([
    ['#/toolspac?v=1', /Did you mean toolspace/],
    ['#/toolspace?v=1&set.stepps=3', /Did you mean steps/],
    ['#/toolspace?v=1&set.steps=-3', /Training steps: "-3" is not allowed/],
    ['#/toolspace?v=9', /newer lab/],
    ['#/toolspace?v=1&set.__proto__=3', /"set\.__proto__" is not allowed/],
    ['#/toolspace?v=1&z=AAAA', /link|packed|damaged/i],
  ])(
    'answers the bad link %s with a sentence',
    async (fragment, sentence) => {
      const { page, context, faults } = await openPage(lab, fragment);
      const alert = page.getByRole('alert');
      await alert.waitFor();
      expect(await alert.textContent()).toMatch(sentence);
      await runButton(page).waitFor();
      expect(faults).toEqual([]);
      await context.close();
    },
    30_000,
  );

  it('refuses a value out of bounds with what is allowed, and does not run it', async () => {
    const { page, context } = await openPage(lab);
    const steps = page.getByLabel('Training steps');
    await steps.fill('7');
    await page.keyboard.press('Tab');
    await page.getByText(/Training steps: "7" is not allowed/).waitFor();
    expect(await runButton(page).isDisabled()).toBe(true);
    await steps.fill('50');
    await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'Train 50 steps' }).waitFor();
    await context.close();
  }, 30_000);

  it('reads a dropped hostile trace as data', async () => {
    const { page, context, faults, foreign } = await openPage(lab);
    await page.evaluate((text) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([`${text}\n${text}\n${text}\n`], '<img src=x onerror=alert(1)>.jsonl'));
      transfer.items.add(new File(['this is no trace'], 'notes.txt'));
      window.dispatchEvent(
        new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }),
      );
    }, HOSTILE);
    const mine = page.locator('#mine');
    await mine.getByText(/files? read in/).waitFor();
    const text = (await mine.textContent()) ?? '';
    expect(text).toContain('<img src=x onerror=alert(1)>.jsonl');
    expect(text).toContain('notes.txt');
    const state = await page.evaluate(() => ({
      pwned: 'pwned' in window || 'pwned' in {},
      images: document.querySelectorAll('#mine img, #mine iframe, #mine script').length,
    }));
    expect(state).toEqual({ pwned: false, images: 0 });
    const edge = mine.locator('[data-edge]').first();
    await edge.focus();
    await page.keyboard.press('Enter');
    await mine
      .getByRole('cell', { name: /iframe srcdoc/ })
      .first()
      .waitFor();
    expect(faults).toEqual([]);
    expect(foreign).toEqual([]);
    await context.close();
  }, 60_000);

  it('has nothing that axe objects to, light and dark, empty and after a run', async () => {
    const { page, context } = await openPage(lab, tiny({ steps: 10, evaluateEvery: 10 }));
    await page.locator('.lesson .katex').first().waitFor();
    const found: string[] = [];
    const look = async (when: string, schemes: readonly ('light' | 'dark')[]) => {
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        const { violations } = await new AxeBuilder({ page }).analyze();
        found.push(
          ...violations.map(
            ({ id, nodes }) => `${when}, ${colorScheme}: ${id} ${nodes[0]?.html.slice(0, 160)}`,
          ),
        );
      }
    };
    await look('empty', ['light']);
    await runButton(page).click();
    await untilLogged(page, /Done in/);
    await page.locator('.list .row').first().click();
    await page.locator('[data-edge]').first().focus();
    await page.keyboard.press('Enter');
    await look('after a run', ['light', 'dark']);
    expect(found).toEqual([]);
    await context.close();
  }, 120_000);

  it('fits 320 pixels without sideways scrolling', async () => {
    const { page, context } = await openPage(lab, tiny({ steps: 10, evaluateEvery: 10 }));
    await page.setViewportSize({ width: 320, height: 640 });
    await runButton(page).click();
    await untilLogged(page, /Done in/);
    const { wide, room } = await page.evaluate(() => ({
      wide: document.scrollingElement?.scrollWidth ?? 0,
      room: document.documentElement.clientWidth,
    }));
    expect(wide).toBeLessThanOrEqual(room);
    const bodies = await page.evaluate(() => document.body.scrollWidth);
    expect(bodies).toBeLessThanOrEqual(320);
    await context.close();
  }, 60_000);
});

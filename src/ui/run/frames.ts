/** Milliseconds of work the page does between two frames; the rest of a frame is the browser's. */
const BUDGET = 8;

/** Resolves after the next frame was drawn; at once, through a message, where the tab is hidden and draws none. */
function nextFrame(): Promise<void> {
  if (!document.hidden) {
    return new Promise((resolve) => {
      // A tab that is hidden while waiting would wait until it is shown again.
      const hidden = () => document.hidden && done();
      const done = () => {
        document.removeEventListener('visibilitychange', hidden);
        resolve();
      };
      document.addEventListener('visibilitychange', hidden);
      requestAnimationFrame(() => setTimeout(done));
    });
  }
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** Keeps a loop over many small items from holding the page: call `breathe` between items. */
export class Frames {
  #since = performance.now();

  async breathe(): Promise<void> {
    if (performance.now() - this.#since < BUDGET) return;
    await nextFrame();
    this.#since = performance.now();
  }
}

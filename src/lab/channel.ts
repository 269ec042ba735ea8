/** Hands one item to the reader; resolves when the reader comes for the next, rejects where it has stopped reading. */
export type Emit<T> = (item: T) => Promise<void>;

/** What `emit` rejects with when the reader has gone. */
class ReaderGone extends Error {
  override readonly name = 'ReaderGone';
}

interface Offer<T> {
  item: T;
  taken(): void;
  refused(error: Error): void;
}

/**
 * Makes a stream of work that tells what it does from deep inside. The work waits at each item that it awaits the telling
 * of, so that not reading pauses it and returning from the stream stops it there. Errors of the work are the stream's.
 */
export async function* channel<T>(work: (emit: Emit<T>) => Promise<void>): AsyncGenerator<T> {
  const offers: Offer<T>[] = [];
  let wake = () => {};
  let open = true;
  let outcome: { error?: unknown } | null = null;
  const emit: Emit<T> = (item) =>
    new Promise((taken, refused) => {
      if (!open) return refused(new ReaderGone());
      offers.push({ item, taken, refused });
      wake();
    });
  const ended = work(emit).then(
    () => {
      outcome = {};
      wake();
    },
    (error: unknown) => {
      outcome = { error };
      wake();
    },
  );
  let current: Offer<T> | undefined;
  try {
    for (;;) {
      current = offers.shift();
      if (current) {
        yield current.item;
        current.taken();
      } else if (outcome) break;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
    const { error } = outcome as { error?: unknown };
    if (error !== undefined) throw error;
  } finally {
    open = false;
    for (const offer of current ? [current, ...offers] : offers) offer.refused(new ReaderGone());
    await ended;
  }
}

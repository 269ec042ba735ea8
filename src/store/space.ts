import type { Space } from './model.ts';

/** Space of this site; `null` where the browser does not say. */
export async function estimate(storage: StorageManager | undefined): Promise<Space | null> {
  try {
    const { usage, quota } = (await storage?.estimate()) ?? {};
    if (usage === undefined || quota === undefined) return null;
    return {
      used: usage,
      left: Math.max(0, quota - usage),
      persisted: (await storage?.persisted?.()) ?? false,
    };
  } catch {
    return null; // Private windows of some browsers refuse the question itself.
  }
}

/** Asks the browser not to evict this site's data; true where it promises so. */
export async function persist(storage: StorageManager | undefined): Promise<boolean> {
  try {
    return (await storage?.persist?.()) ?? false;
  } catch {
    return false;
  }
}

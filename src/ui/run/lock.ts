/**
 * Holds a run for this tab, so that no other tab goes on with it at the same time. The browser lets go by itself when
 * the tab closes. @returns what lets go, or `null` where another tab holds the run.
 */
export async function holdRun(id: string): Promise<(() => void) | null> {
  if (!('locks' in navigator)) return () => {};
  return new Promise((resolve, reject) => {
    navigator.locks
      .request(`rollout-lab/run/${id}`, { ifAvailable: true }, (lock) => {
        if (!lock) return resolve(null);
        return new Promise<void>((release) => resolve(release));
      })
      .catch(reject);
  });
}

/** Resolves when the tab is shown again; `null` where it is on show. */
export function away(): Promise<void> | null {
  if (!document.hidden) return null;
  return new Promise((resolve) => {
    const shown = () => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', shown);
      resolve();
    };
    document.addEventListener('visibilitychange', shown);
  });
}

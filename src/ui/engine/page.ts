/** True where an address's fragment stands for the page "Engine" or a place on it. */
export const isEnginePage = (fragment: string): boolean => /^#engine(-[a-z]+)?$/.test(fragment);

/** True where a fragment stands for a place on this page, such as `#stage`, and is no link to a run. */
export const isPlace = (fragment: string): boolean =>
  isEnginePage(fragment) || (/^#[a-z][a-z-]*$/.test(fragment) && document.querySelector(fragment) !== null);

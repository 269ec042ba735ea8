import type { Services } from '../lab/services.ts';

declare global {
  var rolloutLab: Pick<Services, 'learn'> | undefined;
}

/** What the page offers to scripts: training on this browser's device, as the command line does with `--gpu chromium`. */
export function offerToScripts(services: Pick<Services, 'learn'>): void {
  globalThis.rolloutLab = { learn: services.learn };
}

import type { Services } from '../lab/services.ts';
import type { PageServices } from './services.ts';

declare global {
  var rolloutLab: Pick<Services, 'learn'> | undefined;
}

/**
 * What the page offers to scripts: training on this browser's graphics device, in software too, as the command line does
 * with `--gpu chromium`.
 */
export function offerToScripts(services: PageServices): void {
  globalThis.rolloutLab = { learn: (...run) => services.learnOn('webgpu', ...run) };
}

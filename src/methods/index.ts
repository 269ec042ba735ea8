import type { Method } from './method.ts';
import { toolspace } from './toolspace/experiment.ts';

/** Every method that the lab runs. Adding one means adding its folder and a line here. */
export const methods: readonly Method[] = [toolspace];

import { createWorld } from '../kit/world.ts';
import type { Noise, World } from '../kit.ts';
import { OPENING } from './names.ts';
import { drawDesk } from './reset.ts';
import { DESK_TOOLS } from './tools.ts';

/** A fresh desk; equal seeds give equal desks. */
export function createDesk(seed: number | string, noise?: Noise): World {
  const parts = { id: 'desk', toolbox: DESK_TOOLS, tables: drawDesk(seed), hours: OPENING, seed };
  return createWorld(noise ? { ...parts, noise } : parts);
}

import { LabError } from '../base/errors.ts';
import { desk } from './desk/index.ts';
import type { WorldDefinition } from './kit.ts';

/** The lab's worlds by id. */
export const worlds: ReadonlyMap<string, WorldDefinition> = new Map([desk].map((world) => [world.id, world]));

/** A world by its id. @throws LabError where there is none of that id. */
export function worldById(id: string): WorldDefinition {
  const world = worlds.get(id);
  if (world) return world;
  throw new LabError(`there is no world "${id}"`, {
    where: 'world',
    remedy: `choose one of: ${[...worlds.keys()].join(', ')}`,
  });
}

import { LabError } from '../../base/errors.ts';
import { desk } from '../../world/desk/index.ts';
import type { Snapshot, World, WorldDefinition } from '../../world/kit.ts';
import { Objects } from '../walk/objects.ts';
import { Meanings } from './meaning.ts';

/** Worlds by name: those of the house, and those registered since. */
const definitions = new Map<string, WorldDefinition>([[desk.id, desk]]);

/** Makes a kind of world known to the verifier, so that a task needs to carry only its name. */
export function registerWorld(definition: WorldDefinition): void {
  definitions.set(definition.id, definition);
}

/** The kind of world with this name. @throws LabError where it is not registered. */
export function worldDefinition(id: string): WorldDefinition {
  const definition = definitions.get(id);
  if (!definition) {
    const known = [...definitions.keys()].join(', ') || 'none';
    throw new LabError(`there is no world "${id}"`, { where: 'task', remedy: `known are: ${known}` });
  }
  return definition;
}

/** A world without noise, open at s0, with what is needed to judge in it. Always handed out standing at s0. */
export interface Bench {
  definition: WorldDefinition;
  world: World;
  start: Snapshot;
  objects: Objects;
  meanings: Meanings;
}

/** Worlds kept open: opening one costs much more than going back to its start. */
const KEPT = 64;
const benches = new Map<WorldDefinition, Map<string, Bench>>();

/** Opens the world of a seed, or takes one back to s0 that is open already. Not for use in nested judgements. */
export function openBench(definition: WorldDefinition, seed: string): Bench {
  let open = benches.get(definition);
  if (!open) {
    open = new Map();
    benches.set(definition, open);
  }
  let bench = open.get(seed);
  if (bench) open.delete(seed);
  else {
    const world = definition.create(seed);
    const objects = new Objects(world, definition.lexicon);
    bench = {
      definition,
      world,
      start: world.snapshot(),
      objects,
      meanings: new Meanings(objects, definition.lexicon),
    };
  }
  open.set(seed, bench);
  if (open.size > KEPT) open.delete(open.keys().next().value as string);
  bench.world.restore(bench.start);
  return bench;
}

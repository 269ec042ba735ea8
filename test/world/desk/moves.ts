import fc from 'fast-check';
import type { Json, JsonObject } from '../../../src/base/json.ts';
import { ADDRESSES, PEOPLE, TICKETS } from '../../../src/world/desk/names.ts';
import { DESK_TOOLS } from '../../../src/world/desk/tools.ts';
import type { Observation, World } from '../../../src/world/kit.ts';

/** A call chosen without knowing the world; `moveOf` makes it one of this world. */
export interface Choice {
  tool: string;
  /** Picks of values for the arguments, and whether the pick is of the world (else of the whole pool). */
  picks: number[];
  local: boolean;
  /** Arguments that no schema allows, sometimes. */
  junk: Json;
}

export const choices: fc.Arbitrary<Choice> = fc.record({
  tool: fc.constantFrom(...DESK_TOOLS.declarations.map(({ name }) => name)),
  picks: fc.array(fc.nat(1000), { minLength: 3, maxLength: 3 }),
  local: fc.nat(9).map((n) => n < 8),
  junk: fc.option(fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>, { freq: 12 }),
});

const at = <T>(items: readonly T[], pick: number): T => items[pick % items.length] as T;

/** Arguments of a chosen call in a world: mostly of objects that are there, optional ones now and then left out. */
export function argsOf(world: World, { tool, picks, local, junk }: Choice): Json {
  if (junk !== null) return junk;
  const [a = 0, b = 0, c = 0] = picks;
  const ticket = at(local ? world.ids('ticket') : TICKETS, a);
  const person = at(local ? world.ids('person') : PEOPLE, b);
  const email = local ? (world.object('person', person)?.email as string) : at(ADDRESSES, b);
  const optional = (args: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(args).filter((_, i) => (c >> i) % 2 === 0));
  switch (tool) {
    case 'list_tickets':
      return optional({ status: at(['open', 'closed'], a), priority: at(['P1', 'P2', 'P3'], b) });
    case 'list_outbox':
      return optional({ ticket });
    case 'get_person':
      return { person };
    case 'find_person':
      return { email };
    case 'send_mail':
      return { to: email, ticket };
    case 'assign_ticket':
      return { ticket, person };
    case 'set_priority':
      return { ticket, priority: at(['P1', 'P2', 'P3'], c) };
    default:
      return { ticket };
  }
}

/** Makes the chosen calls one after another. */
export function play(world: World, list: readonly Choice[]): Observation[] {
  return list.map((choice) => world.call(choice.tool, argsOf(world, choice)));
}

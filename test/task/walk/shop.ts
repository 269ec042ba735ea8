import { Rng } from '../../../src/base/rng.ts';
import type { ToolGraph } from '../../../src/task/model.ts';
import { refuse, type ToolDefinition, toolbox } from '../../../src/world/kit/tools.ts';
import { createWorld } from '../../../src/world/kit/world.ts';
import type { Noise, WorldDefinition } from '../../../src/world/kit.ts';
import type { Language } from '../../../src/world/language.ts';

/** A world of two kinds of things and numbered orders: small enough to know every state of it by heart. */
const text = { type: 'string' };
const object = (properties: Record<string, object>, required = Object.keys(properties)) => ({
  ...{ type: 'object', required, additionalProperties: false },
  properties: properties as never,
});

const read = (type: 'item' | 'maker'): ToolDefinition => ({
  name: `get_${type}`,
  description: `Shows one ${type}.`,
  inputSchema: object({ [type]: text }),
  outputSchema: { type: 'object' },
  effect: 'read',
  run: (args, context) =>
    context.get(type, args[type] as string) ?? refuse('not_found', `there is no such ${type}`, type),
});

const TOOLS = toolbox([
  read('item'),
  read('maker'),
  {
    name: 'list_items',
    description: 'Lists the items of a colour.',
    inputSchema: object({ colour: { type: 'string', enum: ['red', 'blue'] } }),
    outputSchema: { type: 'object' },
    effect: 'read',
    run: ({ colour }, context) => ({ items: context.select('item', (item) => item.colour === colour) }),
  },
  {
    name: 'place_order',
    description: 'Orders something to be sent to a city.',
    inputSchema: object({ item: text, city: text }),
    outputSchema: { type: 'object' },
    effect: 'write',
    run: ({ item, city }, context) => {
      if (!context.get('item', item as string)) return refuse('not_found', 'there is no such item', 'item');
      const id = `o${context.select('order', () => true).length + 1}`;
      context.put('order', id, { id, item: item as string, city: city as string, placed_at: context.now });
      context.advance(1);
      return { id };
    },
  },
  {
    name: 'paint',
    description: 'Paints an item.',
    inputSchema: object({ item: text, colour: { type: 'string', enum: ['red', 'blue'] } }),
    outputSchema: { type: 'object' },
    effect: 'write',
    run: ({ item, colour }, context) => {
      if (!context.get('item', item as string)) return refuse('not_found', 'there is no such item', 'item');
      context.patch('item', item as string, { colour: colour as string });
      return { id: item as string };
    },
  },
] as readonly ToolDefinition[]);

/** Says anything: for worlds whose tasks no policy learns. */
const LANGUAGE: Language = {
  vocabulary: ['.'],
  end: 0,
  names: [],
  longestAction: 1,
  actions: { kind: 'one', of: [0] },
  encodeRequest: () => [0],
  encodeAction: () => [0],
  encodeObservation: () => [0],
  parseAction: () => ({ ok: false, why: 'says nothing' }),
};

export const shop: WorldDefinition = {
  id: 'shop',
  title: 'Shop',
  description: 'Items, their makers, and numbered orders.',
  tools: TOOLS.declarations,
  create(seed: number | string, noise?: Noise) {
    const rng = new Rng(seed).fork('shop');
    const cities = rng.shuffle(['Oslo', 'Turin', 'Quito']);
    const makers = ['ada', 'bo', 'cy'].map((id, i) => ({ id, city: cities[i] as string }));
    const items = ['cup', 'jar', 'pot', 'pan'].map((id) => ({
      id,
      colour: rng.pick(['red', 'blue']),
      maker: rng.pick(makers).id,
    }));
    const byId = <T extends { id: string }>(all: T[]) => Object.fromEntries(all.map((one) => [one.id, one]));
    const tables = { item: byId(items), maker: byId(makers) };
    const parts = { id: 'shop', toolbox: TOOLS, tables, hours: 5, seed };
    return createWorld(noise ? { ...parts, noise } : parts);
  },
  lexicon: {
    objects: { item: 'item', maker: 'maker', order: 'order' },
    fields: { id: 'name', colour: 'colour', maker: 'maker', city: 'city' },
    intents: { place_order: ['have {item} sent to {city}'], paint: ['colour {item} {colour}'] },
  },
  language: LANGUAGE,
  *corpus() {},
};

type Arrow = [
  from: number,
  to: number,
  kind: 'data' | 'state' | 'retry',
  source: string,
  target: string,
  count: number,
];

/** A graph over the shop's tools, written by hand. */
export function shopGraph(arrows: Arrow[]): ToolGraph {
  const node = (
    id: number,
    tool: string,
    configuration: string[],
    effect: 'read' | 'write',
    cluster: number,
  ) => ({
    ...{ id, tool, configuration, effect, cluster, key: `${tool}{${configuration}}` },
    ...{ calls: 10, errors: 0, pairs: 10, sources: {} },
  });
  return {
    nodes: [
      node(0, 'get_item', ['item'], 'read', 0),
      node(1, 'get_maker', ['maker'], 'read', 1),
      node(2, 'place_order', ['city', 'item'], 'write', 2),
      node(3, 'list_items', ['colour=red'], 'read', 0),
      node(4, 'paint', ['colour=red', 'item'], 'write', 0),
    ],
    edges: arrows.map(([from, to, kind, source, target, count]) => ({
      ...{ from, to, kind, count, weight: count / 10, ranks: { synthetic: count }, witnesses: [] },
      bindings: source === '' ? [] : [{ source, target, count }],
    })),
    clusters: [],
    sources: [],
    pruned: {},
  };
}

/** item → maker → order, and the ways from lists and paint. */
export const SHOP_ARROWS: Arrow[] = [
  [0, 1, 'data', 'maker', 'maker', 8],
  [1, 2, 'data', 'city', 'city', 9],
  [3, 0, 'data', 'items[*].id', 'item', 9],
  [3, 1, 'data', 'items[*].maker', 'maker', 2],
  [4, 0, 'state', 'args.item', 'item', 5],
  [4, 2, 'state', 'args.item', 'item', 2],
];

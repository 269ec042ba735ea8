import { canonicalJson, isObject, type Json, type JsonObject } from '../../base/json.ts';
import type { Lexicon, World, WorldTool } from '../../world/kit.ts';
import type { Ref, Root } from '../../world/request.ts';

/** An object of a world: its type (a key of `Lexicon.objects`), the table it lies in, its id and its fields. */
export interface Thing {
  type: string;
  table: string;
  id: string;
  fields: JsonObject;
}

/**
 * What the objects of a world are called and how references to them are read. The kit keys objects by table and id;
 * requests speak of types. A type's table is the one of its own name, or of its name with an `s`.
 * Reads the world as it stands at the time of each call; holds nothing of its state.
 */
export class Objects {
  readonly #world: World;
  readonly #tables: readonly { type: string; tables: readonly string[] }[];
  /** Fields by which tools look objects up, besides their id: an address names a person. */
  readonly #keys: readonly string[];

  constructor(world: World, lexicon: Lexicon) {
    this.#world = world;
    this.#tables = Object.keys(lexicon.objects).map((type) => ({ type, tables: [type, `${type}s`] }));
    this.#keys = keyFields(world.tools, lexicon);
  }

  /** Types in the order of the lexicon. */
  get types(): string[] {
    return this.#tables.map(({ type }) => type);
  }

  /**
   * The object with this id, in whichever table it lies; else the only one that has the value in a field by which a
   * tool looks objects up. `null` where there is none.
   */
  find(id: Json): Thing | null {
    if (typeof id !== 'string') return null;
    return this.#byId(id) ?? this.#byKey(id);
  }

  #byKey(value: string): Thing | null {
    for (const key of this.#keys) {
      const fitting = this.types.flatMap((type) => this.matching(type, { [key]: value }));
      if (fitting.length === 1) return this.#byId(fitting[0] as string);
    }
    return null;
  }

  #byId(id: string): Thing | null {
    for (const { type, tables } of this.#tables) {
      for (const table of tables) {
        const fields = this.#world.object(table, id);
        if (fields !== null) return { type, table, id, fields };
      }
    }
    return null;
  }

  /** Ids of a type, in the world's order; none for an unknown type. */
  ids(type: string): string[] {
    const tables = this.#tables.find((known) => known.type === type)?.tables ?? [];
    return tables.flatMap((table) => this.#world.ids(table));
  }

  /** Ids of a type whose objects have exactly these field values. */
  matching(type: string, where: Record<string, Json>): string[] {
    const tables = this.#tables.find((known) => known.type === type)?.tables ?? [];
    const wanted = Object.entries(where).map(([field, value]) => [field, canonicalJson(value)] as const);
    const fits = (fields: JsonObject | null): boolean =>
      fields !== null &&
      wanted.every(
        ([field, text]) => Object.hasOwn(fields, field) && canonicalJson(fields[field] as Json) === text,
      );
    return tables.flatMap((table) =>
      this.#world.ids(table).filter((id) => fits(this.#world.object(table, id))),
    );
  }

  /** The value that a root stands for: what is written, or the id of the only object that fits. */
  rootValue(root: Root): Json | undefined {
    if ('id' in root) return root.id;
    const fitting = this.matching(root.the, root.where);
    return fitting.length === 1 ? fitting[0] : undefined;
  }

  /**
   * What a reference means in the world as it stands: from the root along the path, through the object that each
   * identifier on the way names. `undefined` where it means nothing, or not exactly one thing.
   */
  resolve(ref: Ref): Json | undefined {
    const root = this.rootValue(ref.root);
    return root === undefined ? undefined : this.follow(root, ref.path);
  }

  /** Where a path leads from a value, through the objects that identifiers on the way name. */
  follow(from: Json, path: readonly string[]): Json | undefined {
    let value: Json | undefined = from;
    for (const field of path) {
      if (value === undefined) return undefined;
      const holder: JsonObject | undefined = isObject(value) ? value : this.find(value)?.fields;
      if (!holder || !Object.hasOwn(holder, field)) return undefined;
      value = holder[field];
    }
    return value;
  }
}

/** Arguments of reading tools that are called like a field, are free (not enumerated), and are no type of object. */
function keyFields(tools: readonly WorldTool[], lexicon: Lexicon): string[] {
  const keys = new Set<string>();
  for (const tool of tools) {
    const { properties } = tool.inputSchema;
    if (tool.effect !== 'read' || !isObject(properties)) continue;
    for (const [name, schema] of Object.entries(properties)) {
      const free =
        isObject(schema) && schema.type === 'string' && !('enum' in schema) && !('const' in schema);
      if (free && Object.hasOwn(lexicon.fields, name) && !Object.hasOwn(lexicon.objects, name))
        keys.add(name);
    }
  }
  return [...keys];
}

import { LabError } from '../base/errors.ts';
import type { Config, Method, RunSpec, StageProgress } from '../methods/method.ts';
import { checkSpec, configDiff, PRESETS } from './config.ts';
import { CUT, type Fields, readFields, writeFields } from './link/fields.ts';
import { pack, unpack } from './link/pack.ts';
import { LINK_VERSIONS, type LinkVersions, migrate, readVersion } from './link/version.ts';
import { nearestWord, quoted } from './words.ts';

/** What of a method a link needs to know. */
export type Linkable = Pick<Method, 'id' | 'title' | 'controls' | 'presets' | 'arms' | 'metrics'>;

/** How the page should stand when it opens; says nothing about the run. */
export interface LinkView {
  stage?: StageProgress['stage'];
  /** Id of the metric whose chart is shown. */
  metric?: string;
  theme?: 'light' | 'dark';
}

/** What a link says: the run, whether to start it at once, and the view. */
export interface LinkedRun extends RunSpec {
  autorun: boolean;
  view: LinkView;
}

/** Longest fragment that is written or read, in characters, the `#` not counted. */
export const MAX_FRAGMENT = 8192;

/** Fragments longer than this are packed, where that makes them shorter. */
export const READABLE = 200;

const STAGES: readonly StageProgress['stage'][] = ['traces', 'graph', 'walk', 'verify', 'train', 'evaluate'];
const THEMES = ['light', 'dark'] as const;
const DEFAULT_SEED = 1;

/**
 * A link that reproduces a run: `base` and a fragment with the difference to the preset, as
 * `#/toolspace?v=1&preset=micro&seed=3&set.batch=64`. The fragment stays in the browser: no server sees it. A long one
 * is packed into `z=` (deflate-raw, base64url).
 * @param base address of the page, without a fragment; empty for the fragment alone.
 * @throws LabError where the spec is not valid, or the link would pass `MAX_FRAGMENT`.
 */
export async function encodeLink(
  method: Linkable,
  spec: RunSpec,
  base = '',
  options: { autorun?: boolean; view?: LinkView } = {},
): Promise<string> {
  const fields = fieldsOf(method, spec, options);
  const path = `/${encodeURIComponent(method.id)}`;
  const version = `v=${LINK_VERSIONS.current}`;
  const body = writeFields(fields);
  let fragment = `${path}?${version}&${body}`;
  if (fragment.length > READABLE) {
    const packed = `${path}?${version}&z=${await pack(body)}`;
    if (packed.length < fragment.length) fragment = packed;
  }
  if (fragment.length > MAX_FRAGMENT) {
    throw new LabError(
      `The link would be ${fragment.length} characters long; at most ${MAX_FRAGMENT} are allowed`,
      {
        where: 'link',
        remedy: 'Share the exported run instead.',
      },
    );
  }
  return `${base.split('#')[0]}#${fragment}`;
}

/**
 * Reads a link's fragment (with or without the `#`; a whole address is taken too). Nothing in it is trusted: length,
 * packing, version, names and values are all checked, and whatever is missing comes from the preset.
 * @throws LabError that says what is wrong and what to do; never anything else.
 */
export async function decodeLink(
  fragment: string,
  methods: readonly Linkable[],
  versions: LinkVersions = LINK_VERSIONS,
): Promise<LinkedRun> {
  const text = fragment.slice(fragment.indexOf('#') + 1);
  if (text.length > MAX_FRAGMENT) {
    throw new LabError(`The link is ${text.length} characters long; at most ${MAX_FRAGMENT} are read`, {
      where: 'link',
      remedy: 'No link of the lab is that long. Ask for a new one, or for the exported run.',
    });
  }
  const [path = '', query = ''] = splitOnce(text, '?');
  const method = findMethod(path, methods);
  const written = readFields(query);
  if (written.length === 0) return specOf(method, []);
  const version = readVersion(written, versions);
  const rest = written.filter(([name]) => name !== 'v');
  const packed = rest.find(([name]) => name === 'z');
  if (packed && rest.length > 1) {
    throw new LabError('The link holds packed and readable fields side by side', {
      where: 'z',
      remedy: 'Keep either.',
    });
  }
  const fields = packed ? readFields(await unpack(packed[1])) : rest;
  return specOf(method, migrate(fields, version, versions));
}

function fieldsOf(method: Linkable, given: RunSpec, options: { autorun?: boolean; view?: LinkView }): Fields {
  if (given.method !== method.id) {
    throw new LabError(`The run is one of ${quoted(given.method)}, not of ${method.title}`, {
      where: 'link',
      remedy: 'Make the link with the method of the run.',
    });
  }
  const spec = checkSpec(method, given);
  const fields: Fields = [
    ['preset', spec.preset],
    ['seed', String(spec.seed)],
  ];
  if (spec.arms.length < method.arms.length) fields.push(['arms', spec.arms.join(',')]);
  const changes = configDiff(method, spec.preset, spec.config);
  for (const [key, value] of Object.entries(changes)) fields.push([`set.${key}`, String(value)]);
  if (options.autorun) fields.push(['run', '1']);
  const view = checkView(method, new Map(Object.entries(options.view ?? {})));
  for (const [name, value] of Object.entries(view)) fields.push([`view.${name}`, value]);
  return fields;
}

function specOf(method: Linkable, fields: Fields): LinkedRun {
  const changes: Config = {};
  const view = new Map<string, string>();
  const plain = new Map<string, string>();
  for (const [name, value] of fields) {
    if (name.startsWith('set.')) changes[name.slice(4)] = value;
    else if (name.startsWith('view.')) view.set(name.slice(5), value);
    else plain.set(name, value);
  }
  const preset = plain.get('preset') ?? PRESETS.find((id) => method.presets[id] !== undefined) ?? '';
  const arms = plain.get('arms')?.split(',') ?? [];
  const seed = plain.get('seed') ?? DEFAULT_SEED;
  const run = plain.get('run') ?? '0';
  for (const name of plain.keys()) refuseUnknown(name, ['preset', 'seed', 'arms', 'run'], 'field');
  if (run !== '0' && run !== '1') throw notOneOf('run', run, ['0', '1']);
  return {
    ...checkSpec(method, { preset, config: changes, arms, seed }),
    autorun: run === '1',
    view: checkView(method, view),
  };
}

function checkView(method: Linkable, given: ReadonlyMap<string, unknown>): LinkView {
  const metrics = method.metrics.map((metric) => metric.id);
  const allowed: Record<string, readonly string[]> = { stage: STAGES, metric: metrics, theme: THEMES };
  for (const name of given.keys()) refuseUnknown(name, Object.keys(allowed), 'part of the view');
  const one = <T extends string>(name: string, known: readonly T[]): T | undefined => {
    const value = given.get(name);
    if (value === undefined) return undefined;
    const found = known.find((item) => item === value);
    if (found === undefined) throw notOneOf(`view.${name}`, value, known);
    return found;
  };
  const view: LinkView = {};
  const stage = one('stage', STAGES);
  const metric = one('metric', metrics);
  const theme = one('theme', THEMES);
  if (stage) view.stage = stage;
  if (metric) view.metric = metric;
  if (theme) view.theme = theme;
  return view;
}

function findMethod(path: string, methods: readonly Linkable[]): Linkable {
  const ids = methods.map((method) => method.id);
  let id = path.replace(/^\//, '');
  try {
    id = decodeURIComponent(id);
  } catch {
    // A broken escape is no method's name; it is refused below as it stands.
  }
  const found = methods.find((method) => method.id === id);
  if (found) return found;
  const near = nearestWord(id, ids);
  throw new LabError(`There is no method ${quoted(id)}`, {
    where: 'link',
    remedy: `${near ? `Did you mean ${near}? ` : ''}Methods: ${ids.join(', ')}.`,
  });
}

function refuseUnknown(name: string, known: readonly string[], what: string): void {
  if (known.includes(name)) return;
  const near = nearestWord(name, known);
  throw new LabError(`${quoted(name)} is no ${what} of a link`, {
    where: 'link',
    remedy: near ? `Did you mean ${near}? ${CUT}` : CUT,
  });
}

function notOneOf(where: string, value: unknown, known: readonly string[]): LabError {
  return new LabError(`${quoted(value)} is not allowed`, {
    where,
    remedy: `Choose one of ${known.join(', ')}.`,
  });
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

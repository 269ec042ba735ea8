import { LabError } from '../../base/errors.ts';
import { quoted } from '../words.ts';
import type { Fields } from './fields.ts';

/** The version that links are written in, and how the fields of each older version become those of the next. */
export interface LinkVersions {
  current: number;
  /** `steps[n]` takes the fields of version n to version n + 1, for every n from 1 to current − 1. */
  steps: Readonly<Record<number, (fields: Fields) => Fields>>;
}

/** Version 1: `preset`, `seed`, `arms`, `set.KEY`, `run`, `view.stage`, `view.metric`, `view.theme`; `z` = packed. */
export const LINK_VERSIONS: LinkVersions = { current: 1, steps: {} };

/** The version that a link says it has. @throws LabError on one that is missing, no version, or newer than `current`. */
export function readVersion(fields: Fields, versions: LinkVersions): number {
  const text = fields.find(([name]) => name === 'v')?.[1];
  if (text === undefined) {
    throw new LabError('The link does not say its version', {
      where: 'link',
      remedy: `Begin its fields with v=${versions.current}.`,
    });
  }
  const version = /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 0;
  if (version === 0) {
    throw new LabError(`${quoted(text)} is no version of a link`, {
      where: 'v',
      remedy: `This lab reads v=1 to v=${versions.current}.`,
    });
  }
  if (version > versions.current) {
    throw new LabError(
      `The link was made by a newer lab (link version ${version}; this one reads up to ${versions.current})`,
      {
        where: 'v',
        remedy: 'Reload the page to get the newest lab, or ask for a link from this version.',
      },
    );
  }
  return version;
}

/** Fields of an older version as those of the current one. */
export function migrate(fields: Fields, version: number, versions: LinkVersions): Fields {
  let out = fields;
  for (let v = version; v < versions.current; v++) {
    const step = versions.steps[v];
    if (!step)
      throw new LabError(`Links of version ${v} can no longer be read`, {
        where: 'v',
        remedy: 'Ask for a new link.',
      });
    out = step(out);
  }
  return out;
}

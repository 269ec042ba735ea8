import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Floors from the ground up: a room may import rooms on lower floors, and itself. */
const FLOORS = [
  ['base'],
  ['shaders'],
  ['trace', 'gpu'],
  ['world', 'policy', 'store'],
  ['task'],
  ['learn'],
  ['methods'],
  ['lab'],
  ['ui', 'workers', 'cli'],
];

/** Tighter than the floors: all that these rooms may import at run time. Types may come from any lower floor. */
const ONLY: Record<string, string[]> = {
  shaders: [],
  trace: ['base'],
  gpu: ['base', 'shaders'],
  world: ['base', 'trace'],
  policy: ['base', 'gpu', 'shaders'],
  store: ['base', 'trace'],
  task: ['base', 'trace', 'world'],
  learn: ['base', 'gpu', 'policy', 'task', 'world'],
  ui: ['base', 'lab', 'store', 'workers'],
};

interface Import {
  file: string;
  from: string;
  to: string;
  target: string;
  typeOnly: boolean;
}

function roomOf(path: string): string {
  const parts = path.split('/');
  return parts[0] === 'src' ? (parts[1] ?? '') : (parts[0] ?? '');
}

const floorOf = (room: string) => FLOORS.findIndex((floor) => floor.includes(room));

const IMPORT =
  /(?:import|export)\s+(type\s)?[^'";]*?from\s*['"]([^'"]+)['"]|import\s*\(?\s*['"]([^'"]+)['"]|new URL\(\s*['"]([^'"]+)['"]/g;

function listImports(): Import[] {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'src', 'workers', 'shaders'], {
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => /\.(ts|svelte)$/.test(file));
  return files.flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    return [...text.matchAll(IMPORT)].flatMap((match) => {
      const target = match[2] ?? match[3] ?? match[4] ?? '';
      if (!target.startsWith('.')) return [];
      const path = normalize(join(dirname(file), target));
      return [{ file, from: roomOf(file), to: roomOf(path), target: path, typeOnly: match[1] !== undefined }];
    });
  });
}

describe('the house', () => {
  const imports = listImports();

  it('has imports to look at', () => {
    expect(imports.length).toBeGreaterThan(20);
  });

  it('knows the room of every file', () => {
    expect(imports.filter((i) => floorOf(i.from) < 0 || floorOf(i.to) < 0)).toEqual([]);
  });

  it('imports nothing upward or sideways', () => {
    const wrong = imports.filter(
      (i) => i.from !== i.to && floorOf(i.to) >= floorOf(i.from) && !(i.from === 'ui' && i.to === 'workers'),
    );
    expect(wrong).toEqual([]);
  });

  it('keeps each room to the rooms that it may use', () => {
    const wrong = imports.filter(
      (i) => !i.typeOnly && i.from !== i.to && ONLY[i.from] && !ONLY[i.from]?.includes(i.to),
    );
    expect(wrong).toEqual([]);
  });

  it('lets no method import another', () => {
    const methodOf = (path: string) => /^src\/methods\/([^/.]+)\//.exec(path)?.[1];
    const wrong = imports.filter(
      (i) => methodOf(i.file) && methodOf(i.target) && methodOf(i.file) !== methodOf(i.target),
    );
    expect(wrong).toEqual([]);
  });

  it('has no circle of files', () => {
    const next = new Map<string, string[]>();
    // A component may render itself; that is recursion and no circle of files.
    for (const i of imports)
      if (!i.typeOnly && i.file !== i.target) next.set(i.file, [...(next.get(i.file) ?? []), i.target]);
    const done = new Set<string>();
    const visit = (file: string, path: string[]): string[] | null => {
      if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
      if (done.has(file)) return null;
      for (const to of next.get(file) ?? []) {
        const circle = visit(to, [...path, file]);
        if (circle) return circle;
      }
      done.add(file);
      return null;
    };
    const circles = [...next.keys()].map((file) => visit(file, [])).filter(Boolean);
    expect(circles).toEqual([]);
  });
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatPath, leavesOf, parsePath, valueAt, valuesAt } from '../../../src/task/walk/path.ts';

test('a path with a wildcard reaches every element, each under its own concrete path', () => {
  const value = { rows: [{ id: 'a' }, { id: 'b' }, {}] };
  expect(valuesAt(value, 'rows[*].id')).toEqual([
    { path: 'rows[0].id', value: 'a' },
    { path: 'rows[1].id', value: 'b' },
  ]);
  expect(valuesAt(value, 'rows[].id')).toEqual(valuesAt(value, '$.rows[*].id'));
  expect(valuesAt(value, 'rows[7].id')).toEqual([]);
  expect(valueAt(value, 'rows.toString')).toBeUndefined();
});

test('writing and reading paths are inverse to each other, whatever the fields are called', () => {
  const segment = fc.oneof(fc.string({ minLength: 1 }), fc.nat({ max: 99 }));
  fc.assert(
    fc.property(fc.array(segment), (segments) => {
      expect(parsePath(formatPath(segments))).toEqual(segments);
    }),
  );
});

test('every leaf is found again under its path', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (json) => {
      const value = JSON.parse(JSON.stringify(json));
      for (const leaf of leavesOf(value)) expect(valueAt(value, leaf.path)).toEqual(leaf.value);
    }),
  );
});

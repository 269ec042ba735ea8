/**
 * A value from outside, for an error message: in quotes, on one line, cut to 60 characters. Control characters and
 * bidirectional marks are shown as escapes, so that a message cannot be made to read differently from what it says.
 */
export function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : plain(value);
  const cut = text.length > 60 ? `${text.slice(0, 59)}…` : text;
  const safe = cut.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (c) => `\\u{${c.codePointAt(0)?.toString(16)}}`,
  );
  return typeof value === 'string' ? `"${safe}"` : safe;
}

/**
 * The known word with the fewest edits from `word`, ignoring case; `null` where none is within a third of its length.
 * Edits are insertions, deletions, substitutions (Levenshtein 1966).
 */
export function nearestWord(word: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let fewest = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const limit = Math.max(2, Math.floor(candidate.length / 3));
    if (Math.abs(candidate.length - word.length) > limit) continue;
    const edits = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (edits <= limit && edits < fewest && edits < candidate.length) {
      fewest = edits;
      best = candidate;
    }
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitute = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitute, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

function plain(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
}

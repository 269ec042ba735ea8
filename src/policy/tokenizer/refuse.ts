import { LabError } from '../../base/errors.ts';
import { hash53 } from '../../base/hash.ts';

/** Most ids a vocabulary may have, 2^20. */
export const MOST_IDS = 1 << 20;

/** Throws a LabError. */
export function refuse(what: string, where: string, remedy: string): never {
  throw new LabError(what, { where, remedy });
}

/** Text as it is shown in an error: quoted, control characters spelled, cut to 40 characters. */
export function show(text: string): string {
  const cut = text.length > 40 ? `${text.slice(0, 39)}…` : text;
  return `“${cut.replace(/[\p{Cc}\p{Cs}]/gu, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)}”`;
}

/** @throws LabError unless `id` is a whole number from 0 to size − 1. */
export function checkId(id: number, size: number, where: string): void {
  if (!Number.isInteger(id) || id < 0 || id >= size)
    refuse(`${id} is no token id of this vocabulary`, where, `use whole numbers from 0 to ${size - 1}`);
}

/** Name of a content, 28 hexadecimal digits: `hash53` under two seeds, so that a collision is out of the question. */
export function nameOf(content: string): string {
  return [0, 1].map((seed) => hash53(content, seed).toString(16).padStart(14, '0')).join('');
}

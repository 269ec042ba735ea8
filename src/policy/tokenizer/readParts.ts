import type { Json, JsonObject } from '../../base/json.ts';
import { isObject } from '../../base/json.ts';
import type { BytePairSpec, NormalForm } from './bytePair.ts';
import { GPT2_PATTERN } from './patterns.ts';
import { refuse, show } from './refuse.ts';
import type { SplitStep } from './split.ts';

const REMEDY =
  'load a byte-level BPE tokenizer, such as those of GPT-2, RoBERTa, Llama 3, Qwen 2 and later ones like them';

function typeOf(part: Json): string {
  return isObject(part) && typeof part.type === 'string' ? part.type : JSON.stringify(part);
}

/** The parts of a sequence, taken apart to the bottom, with their places. */
function* partsOf(part: Json, where: string, field: string): Generator<{ part: JsonObject; where: string }> {
  if (part === null) return;
  if (!isObject(part)) return refuse('it is no object', where, REMEDY);
  if (part.type !== 'Sequence') {
    yield { part, where };
    return;
  }
  const list = part[field];
  if (!Array.isArray(list)) return refuse('the sequence is no list', `${where}.${field}`, REMEDY);
  for (const [i, inner] of list.entries()) {
    if (isObject(inner) && inner.type === 'Sequence') refuse('a sequence in a sequence', where, REMEDY);
    yield* partsOf(inner, `${where}.${field}[${i}]`, field);
  }
}

/** @throws LabError on a normaliser that is no Unicode normal form. */
export function readNormalForms(normalizer: Json): NormalForm[] {
  return [...partsOf(normalizer, 'normalizer', 'normalizers')].map(({ part, where }) => {
    const { type } = part;
    if (type === 'NFC' || type === 'NFD' || type === 'NFKC' || type === 'NFKD') return type;
    return refuse(`the normaliser ${show(typeOf(part))} changes text in its own way`, where, REMEDY);
  });
}

/** Splits, then ByteLevel. @throws LabError on any other pre-tokenizer. */
export function readSteps(preTokenizer: Json): Pick<BytePairSpec, 'steps' | 'prefixSpace'> {
  const parts = [...partsOf(preTokenizer, 'pre_tokenizer', 'pretokenizers')];
  const last = parts.pop();
  if (last?.part.type !== 'ByteLevel')
    return refuse(
      `the pre-tokenizer ends with ${show(typeOf(last?.part ?? null))}, not with ByteLevel: its tokens are no bytes`,
      last?.where ?? 'pre_tokenizer',
      REMEDY,
    );
  const steps = parts.map(({ part, where }) => readStep(part, where));
  const prefixSpace = last.part.add_prefix_space === true;
  if (prefixSpace && steps.length > 0)
    refuse('a space would be put before every piece', `${last.where}.add_prefix_space`, REMEDY);
  if (last.part.use_regex !== false) steps.push({ pattern: GPT2_PATTERN, onlyMatches: false });
  return { steps, prefixSpace };
}

function readStep(part: JsonObject, where: string): SplitStep {
  const isolated = (pattern: string) => ({ pattern, onlyMatches: false });
  if (part.type === 'Digits') return isolated(part.individual_digits === true ? '\\p{N}' : '\\p{N}+');
  if (part.type === 'Punctuation') {
    const sign = '[\\p{P}!-/:-@\\[-`{-~]';
    if (part.behavior === 'Isolated' || part.behavior === undefined) return isolated(sign);
    if (part.behavior === 'Contiguous') return isolated(`${sign}+`);
  }
  if (part.type === 'Split') {
    const pattern = readPattern(part.pattern, `${where}.pattern`);
    if (part.behavior === 'Isolated') return isolated(pattern);
    if (part.behavior === 'Removed' && part.invert === true) return { pattern, onlyMatches: true };
  }
  const how = typeof part.behavior === 'string' ? ` (${part.behavior})` : '';
  return refuse(
    `the pre-tokenizer ${show(typeOf(part))}${how} is none of those that lose no text`,
    where,
    REMEDY,
  );
}

function readPattern(pattern: Json | undefined, where: string): string {
  if (isObject(pattern)) {
    if (typeof pattern.Regex === 'string') return pattern.Regex;
    if (typeof pattern.String === 'string' && pattern.String !== '')
      return pattern.String.replace(/[^\p{L}\p{N}]/gu, (c) => `\\x{${c.codePointAt(0)!.toString(16)}}`);
  }
  return refuse('it is no pattern', where, REMEDY);
}

/** What the post-processor puts around a single sequence. @throws LabError on one that is not understood. */
export function readFrame(postProcessor: Json, ids: ReadonlyMap<string, number>): BytePairSpec['frame'] {
  let before: number[] = [];
  let after: number[] = [];
  for (const { part, where } of partsOf(postProcessor, 'post_processor', 'processors')) {
    const own = readProcessor(part, where, ids);
    before = [...own.before, ...before];
    after = [...after, ...own.after];
  }
  return { before, after };
}

function readProcessor(
  part: JsonObject,
  where: string,
  ids: ReadonlyMap<string, number>,
): { before: number[]; after: number[] } {
  const idOf = (name: Json | undefined, place: string): number =>
    (typeof name === 'string' ? ids.get(name) : undefined) ??
    refuse(`the vocabulary has no token ${JSON.stringify(name ?? null)}`, place, REMEDY);
  if (part.type === 'ByteLevel') return { before: [], after: [] };
  if (part.type === 'RobertaProcessing' || part.type === 'BertProcessing') {
    const named = (field: 'cls' | 'sep') => {
      const pair = part[field];
      return [idOf(Array.isArray(pair) ? pair[0] : undefined, `${where}.${field}`)];
    };
    return { before: named('cls'), after: named('sep') };
  }
  if (part.type !== 'TemplateProcessing' || !Array.isArray(part.single))
    return refuse(`the post-processor ${show(typeOf(part))} is not known`, where, REMEDY);
  const frame = { before: [] as number[], after: [] as number[] };
  let sequences = 0;
  for (const [i, item] of part.single.entries()) {
    const place = `${where}.single[${i}]`;
    if (isObject(item) && isObject(item.Sequence)) sequences++;
    else if (isObject(item) && isObject(item.SpecialToken))
      frame[sequences === 0 ? 'before' : 'after'].push(
        ...specialIds(part, item.SpecialToken.id, place, idOf),
      );
    else refuse('it is neither a sequence nor a special token', place, REMEDY);
  }
  if (sequences !== 1)
    refuse(`the template names the sequence ${sequences} times`, `${where}.single`, REMEDY);
  return frame;
}

/** A name in a template stands for one token or several, listed under `special_tokens`. */
function specialIds(
  part: JsonObject,
  name: Json | undefined,
  where: string,
  idOf: (name: Json | undefined, where: string) => number,
): number[] {
  const listed =
    isObject(part.special_tokens) && typeof name === 'string' && Object.hasOwn(part.special_tokens, name)
      ? part.special_tokens[name]
      : undefined;
  if (!isObject(listed) || !Array.isArray(listed.tokens)) return [idOf(name, where)];
  return listed.tokens.map((token) => idOf(token, where));
}

/** @throws LabError unless tokens are written back by ByteLevel alone. */
export function readDecoder(decoder: Json): void {
  const parts = [...partsOf(decoder, 'decoder', 'decoders')];
  if (parts.length !== 1 || parts[0]!.part.type !== 'ByteLevel')
    refuse(`the decoder is ${show(typeOf(decoder))}, not ByteLevel`, 'decoder', REMEDY);
}

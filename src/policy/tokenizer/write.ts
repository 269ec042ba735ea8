import type { Json, JsonObject } from '../../base/json.ts';
import type { BytePairSpec } from './bytePair.ts';
import { GPT2_PATTERN } from './patterns.ts';
import type { SplitStep } from './split.ts';

/**
 * A tokenizer.json, version 1.0, as Hugging Face's libraries read it. Objects keyed by tokens are made by `fromEntries`, for
 * which `__proto__` is a key like any other.
 */
export function writeTokenizerJson(spec: BytePairSpec): JsonObject {
  const { tokens, merges } = spec;
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: spec.added.map((token) => ({
      id: token.id,
      content: token.content,
      single_word: token.singleWord,
      lstrip: token.lstrip,
      rstrip: token.rstrip,
      normalized: token.normalized,
      special: token.special,
    })),
    normalizer: inOne(
      spec.normalForms.map((type) => ({ type })),
      'normalizers',
    ),
    pre_tokenizer: writeSteps(spec.steps, spec.prefixSpace),
    post_processor: writeFrame(spec),
    decoder: byteLevel(true, true),
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: spec.ignoreMerges,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: Array.from(merges.left, (left, i) => [tokens[left]!, tokens[merges.right[i]!]!]),
    },
  };
}

function byteLevel(prefixSpace: boolean, useRegex: boolean): JsonObject {
  return { type: 'ByteLevel', add_prefix_space: prefixSpace, trim_offsets: true, use_regex: useRegex };
}

/** None, the one, or a sequence. */
function inOne(parts: JsonObject[], field: string): Json {
  return parts.length < 2 ? (parts[0] ?? null) : { type: 'Sequence', [field]: parts };
}

/** GPT-2's pattern is written as that of ByteLevel itself, since an added space comes before the pattern only there. */
function writeSteps(steps: readonly SplitStep[], prefixSpace: boolean): Json {
  const last = steps.at(-1);
  const ownPattern = last?.pattern === GPT2_PATTERN && !last.onlyMatches;
  const splits = (ownPattern ? steps.slice(0, -1) : steps).map(({ pattern, onlyMatches }) => ({
    type: 'Split',
    pattern: { Regex: pattern },
    behavior: onlyMatches ? 'Removed' : 'Isolated',
    invert: onlyMatches,
  }));
  return inOne([...splits, byteLevel(prefixSpace, ownPattern)], 'pretokenizers');
}

function writeFrame({ frame: { before, after }, tokens }: BytePairSpec): Json {
  if (before.length + after.length === 0) return null;
  const name = (id: number) => tokens[id]!;
  const parts = (ids: readonly number[], type: number) =>
    ids.map((id) => ({ SpecialToken: { id: name(id), type_id: type } }));
  const sequence = (id: string, type: number) => [
    ...parts(before, type),
    { Sequence: { id, type_id: type } },
    ...parts(after, type),
  ];
  return {
    type: 'TemplateProcessing',
    single: sequence('A', 0),
    pair: [...sequence('A', 0), ...sequence('B', 1)],
    special_tokens: Object.fromEntries(
      [...before, ...after].map((id) => [name(id), { id: name(id), ids: [id], tokens: [name(id)] }]),
    ),
  };
}

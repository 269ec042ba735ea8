/**
 * The pre-tokenizer of GPT-2, which every tokenizer.json means by a `ByteLevel` step with `use_regex` (Radford et al. 2019,
 * released code).
 */
export const GPT2_PATTERN =
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/**
 * The pre-tokenizer of tokenizers trained here: words with their marks and at most one sign before them, numbers by up to three
 * digits, runs of signs with the line ends after them, line ends, other white space. Every character falls under one of them.
 */
export const LAB_PATTERN =
  '[^\\r\\n\\p{L}\\p{M}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';

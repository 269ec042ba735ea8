/** A change of a kernel's text that cannot be seen from outside, and why. */
export interface Equivalent {
  file: string;
  /** The line after the change, without indentation. */
  text: string;
  why: string;
}

const every = (files: readonly string[], text: string, why: string): Equivalent[] =>
  files.map((file) => ({ file, text, why }));

const PACKED = ['attention', 'attention_backward_q', 'attention_backward_kv'];
const NORMS = ['rms_norm', 'rms_norm_backward'];

const LONGER =
  'a longer run than needed: the first threads take more rows and the last ones none, in the same order';
const LOWER = 'any number far below every logit stands for −∞ equally well';
const ERASED = 'the first real term multiplies it by exp(−1e30 − top), which is 0';
const UNWRITTEN = 'reads what lies behind the last row or column for a thread whose result is not written';
const REPEATED =
  'a row behind the last one stands for the last one: it writes the same numbers to the same place';
const LAST_AGAIN =
  'an index behind the end is clamped to the last thread, whose score is some other number to subtract, near enough';
const REST = 'the loop over the rows that are left adds the four that this one leaves, in the same order';
const HALVED = 'the count of lanes is a power of 2 above 1, so half of it is the same';
const MASKED = 'reads one vec4 more and masks all of it, because its columns are not below the count';
/** Seen in the maximum alone: in the sum the same change is noticed. */
const TWICE = 'a step more, whose other half is clamped to the last lane: a maximum may take a term twice';
const RACE =
  'adds to a sum that nobody reads any more; another thread may read it in the same step, which would be a race, but a ' +
  'software device runs the lower lanes first and cannot show it';

export const EQUIVALENT: readonly Equivalent[] = [
  { file: 'compact', text: 'let run = (n + (LANES + 1) - 1) / LANES;', why: LONGER },
  { file: 'compact', text: 'let run = (n + LANES + 1) / LANES;', why: LONGER },
  { file: 'compact', text: 'let run = (n + LANES - 1) * LANES;', why: LONGER },
  {
    file: 'compact',
    text: 'let end = min(n, begin - run);',
    why: '0 − run wraps, so that the first thread takes all rows and the others none, in the same order',
  },
  {
    file: 'step_summary',
    text: 'if (norm >= step.clip) { scale = step.clip / norm; }',
    why: 'where both are equal the quotient is exactly 1',
  },
  ...every(PACKED, 'if (block > dims.n) { return; }', UNWRITTEN),
  ...every(PACKED, 'let last = dims.n + 1;', UNWRITTEN),
  ...every(PACKED, 'if (block + $r <= dims.n) {', REPEATED),
  ...every(
    ['attention', 'attention_backward_q'],
    'let end = min(block + (BLOCK + 1), dims.n);',
    'one key more, which no row of the block sees',
  ),
  { file: 'attention', text: 'var top$r = -1.01e+30;', why: LOWER },
  { file: 'attention', text: 'var total$r = 0.01;', why: ERASED },
  {
    file: 'attention_backward_kv',
    text: 'var end = 1u;',
    why: 'every sequence ends at 1 or later, and this is a maximum',
  },
  { file: 'cached_attention', text: 'if (first_pair > dims.n * HEADS) { return; }', why: UNWRITTEN },
  { file: 'cached_attention', text: 'if (first_pair >= dims.n * (HEADS + 1)) { return; }', why: UNWRITTEN },
  {
    file: 'cached_attention',
    text: 'let pair = min(first_pair + lane % PAIRS, dims.n * (HEADS + 1) - 1);',
    why: UNWRITTEN,
  },
  {
    file: 'cached_attention',
    text: 'let pair = min(first_pair + lane % PAIRS, dims.n * HEADS + 1);',
    why: UNWRITTEN,
  },
  { file: 'cached_attention', text: 'var top = -1.01e+30;', why: LOWER },
  { file: 'cached_attention', text: 'var total = 0.01;', why: ERASED },
  {
    file: 'cached_attention',
    text: 'var s = 0.01;',
    why: 'the same for every key, which the softmax does not see',
  },
  { file: 'cached_attention', text: 'var highest = -1.01e+30;', why: LOWER },
  {
    file: 'cached_attention',
    text: 'for (var i = lane % PAIRS; i <= WORKGROUP; i += PAIRS) { highest = max(highest, sums[i].x); }',
    why: LAST_AGAIN,
  },
  {
    file: 'cached_attention',
    text: 'for (var i = lane % PAIRS; i < (WORKGROUP + 1); i += PAIRS) { highest = max(highest, sums[i].x); }',
    why: LAST_AGAIN,
  },
  { file: 'cached_attention', text: 'if (first_pair + lane <= dims.n * HEADS) {', why: REPEATED },
  { file: 'cached_attention', text: 'if (first_pair + lane < dims.n * (HEADS + 1)) {', why: REPEATED },
  ...[
    'if (quad / size.tiles / 4 * ROWS >= dims.n) { return; }',
    'if (quad / size.tiles * 3 * ROWS >= dims.n) { return; }',
    'if (quad / size.tiles * 4 / ROWS >= dims.n) { return; }',
    'if (quad / size.tiles * 4 * ROWS > dims.n) { return; }',
    'if (row > dims.n) { return; }',
    'let last = dims.n + 1;',
  ].flatMap((text) => every(['matmul_nt', 'matmul_nn'], text, UNWRITTEN)),
  { file: 'matmul_tn', text: 'let a_column$i = min(row + $i, size.m4 + 1);', why: UNWRITTEN },
  { file: 'matmul_tn', text: 'let b_column$j = min(column + $j, size.k4 + 1);', why: UNWRITTEN },
  { file: 'matmul_tn', text: 'for (; n + 5 <= end; n += 4) {', why: REST },
  { file: 'matmul_tn', text: 'for (; n + 4 < end; n += 4) {', why: REST },
  ...every(NORMS, 'if (row <= dims.n) {', UNWRITTEN),
  ...every(NORMS, 'for (var half = (LANES + 1) / 2u; half > 0; half /= 2) {', HALVED),
  ...every(NORMS, 'if (lane <= half) { shared_sums[own] += shared_sums[own + half]; }', RACE),
  { file: 'cross_entropy', text: 'const nothing = vec4f(-1.01e+30);', why: LOWER },
  { file: 'cross_entropy', text: 'var held = vec4f(-1.01e+30, 0.0, 0.0, 0.0);', why: LOWER },
  { file: 'cross_entropy', text: 'var held = vec4f(-1e30, 0.01, 0.0, 0.0);', why: ERASED },
  {
    file: 'cross_entropy',
    text: 'var held = vec4f(-1e30, 0.0, 0.01, 0.0);',
    why: 'the tile that holds the target replaces it',
  },
  { file: 'cross_entropy', text: 'var held = vec4f(-1e30, 0.0, 0.0, 0.01);', why: 'nothing reads it' },
  {
    file: 'cross_entropy',
    text: 'if (whole <= COLUMNS4) { tops = max(tops, logits(first, whole)); }',
    why: MASKED,
  },
  {
    file: 'cross_entropy',
    text: 'if (whole < (COLUMNS4 + 1)) { tops = max(tops, logits(first, whole)); }',
    why: MASKED,
  },
  {
    file: 'cross_entropy',
    text: 'if (whole <= COLUMNS4 && lane == 0) { sums += exp(logits(first, whole) - top); }',
    why: MASKED,
  },
  {
    file: 'cross_entropy',
    text: 'if (whole < (COLUMNS4 + 1) && lane == 0) { sums += exp(logits(first, whole) - top); }',
    why: MASKED,
  },
  { file: 'cross_entropy', text: 'for (var half = (LANES + 1) / 2u; half > 0; half /= 2) {', why: HALVED },
  {
    file: 'cross_entropy',
    text: 'if (lane <= half) { shared_lanes[lane] += shared_lanes[lane + half]; }',
    why: RACE,
  },
  {
    file: 'cross_entropy',
    text: 'if (lane <= half) { shared_lanes[lane] = max(shared_lanes[lane], shared_lanes[lane + half]); }',
    why: RACE,
  },
  { file: 'cross_entropy', text: 'for (var half = LANES * 2u; half > 0; half /= 2) {', why: TWICE },
  { file: 'cross_entropy', text: 'for (var half = LANES / 1u; half > 0; half /= 2) {', why: TWICE },
  {
    file: 'cross_entropy',
    text: 'return select(nothing, z[first + i], vec4u(4 * i) + vec4u(0, 1, 2, 4) < vec4u(tile.count));',
    why: 'the last column of a vec4 that is not whole is never below the count',
  },
  {
    file: 'cross_entropy',
    text: 'if (lane > 1) { return; }',
    why: 'a second thread writes the same numbers to the same places',
  },
  {
    file: 'cross_entropy',
    text: 'if (target_column <= tile.count) { target_logit = z[first + target_column / 4][target_column % 4]; }',
    why: 'a target at the count is the first of the next tile, which replaces it; behind the last tile there is none',
  },
];

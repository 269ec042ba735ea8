import { LabError } from '../../base/errors.ts';
import { checkToken } from '../batch.ts';
import type { TokenIds } from './export.ts';
import type { OnnxFile } from './file.ts';
import { OnnxLm, type OnnxProvider, type OnnxRuntime } from './lm.ts';
import { policyShape } from './policy.ts';
import { proveCausal } from './probe.ts';
import { eachRow, type Sequences } from './sequences.ts';

/** The K most probable tokens at N positions, most probable first (the lower id on a tie); both arrays [N, K]. */
export interface TopTokens {
  ids: Int32Array;
  /** Nats, under the whole distribution. */
  logProbs: Float32Array;
}

/** A language model that is frozen: it says how probable tokens are and never learns. Its ids are the student's. */
export interface Teacher {
  /** V, the student's count of ids. */
  readonly vocab: number;
  /** Longest sequence, where the file says it. */
  readonly context: number | null;
  readonly about: TeacherFacts;
  /**
   * Log-probability in nats of every token after every position [N, V], in row-major order.
   * @throws LabError on ids outside the vocabulary, sequences longer than the context, or a model that fails on them.
   */
  logProbs(sequences: Sequences): Promise<Float32Array>;
  /** The K most probable of them. @throws LabError as `logProbs`, and on a K that is not from 1 to V. */
  topK(sequences: Sequences, k: number): Promise<TopTokens>;
  destroy(): Promise<void>;
}

/** What was recognised in a file. */
export interface TeacherFacts {
  provider: OnnxProvider;
  opset: number;
  nodes: number;
  /** Stored numbers. */
  weights: number;
  inputs: string[];
  /** Layers of its cache; 0 where it has none. */
  cacheLayers: number;
  logits: 'float32' | 'float16';
  /** Rows of logits beyond the tokenizer's ids, which padding the vocabulary left; they are cut off. */
  paddedIds: number;
  /** Where its tokenizer was known from. */
  tokenizer: 'file' | 'given';
}

export interface TeacherOptions {
  provider: OnnxProvider;
  /** Whose ids the student speaks. */
  student: TokenIds;
  /** The file's own tokenizer, where it does not name one itself. */
  tokenizer?: TokenIds;
}

/** Largest file that is loaded: its weights must fit the 4 GiB of WebAssembly beside what is computed. */
const MOST_BYTES = 2 ** 30;
/** Exporters round a vocabulary up to a multiple of this … */
const PADDED_TO = 64;
/** … and by less than this many ids. */
const MOST_PADDED = 1024;

/**
 * Loads a decoder-only language model in ONNX as a frozen teacher. What it is, is read from the file and then proved on
 * the model: no logit may depend on a later token (`proveCausal`).
 * @throws LabError that says why a file is refused: no ONNX, weights in other files, another kind of model, unknown inputs,
 * an unknown tokenizer or one that is not the student's, another size of vocabulary, an opset that the runtime does not
 * know, too large.
 */
export async function importTeacher(
  runtime: OnnxRuntime,
  bytes: Uint8Array,
  { provider, student, tokenizer }: TeacherOptions,
): Promise<Teacher> {
  checkTeacherSize(bytes.length);
  const lm = await OnnxLm.open(runtime, bytes, provider);
  try {
    const known = knownTokens(lm.file, tokenizer);
    if (known.identity !== student.identity || known.size !== student.size)
      throw new LabError(
        `its tokenizer (${known.size} ids, ${known.identity}) is not the student’s (${student.size} ids, ${student.identity})`,
        {
          where: 'tokenizer',
          remedy: 'train a student with the tokenizer of this teacher, or choose another teacher',
        },
      );
    const rows = await proveCausal(lm, student.size);
    const paddedIds = checkRows(rows, student.size);
    return new LoadedTeacher(lm, rows, student.size, { ...factsOf(lm), paddedIds, tokenizer: known.from });
  } catch (error) {
    await lm.destroy();
    throw error;
  }
}

/** Checks the size of a file in bytes, before it is read. @throws LabError where it is too large. */
export function checkTeacherSize(size: number): void {
  if (size > MOST_BYTES)
    throw new LabError(`the file has ${Math.ceil(size / 2 ** 20)} MiB; ${MOST_BYTES / 2 ** 20} fit`, {
      where: 'the file',
      remedy: 'export it in float16 or quantised, or choose a smaller model',
    });
}

function knownTokens(file: OnnxFile, given: TokenIds | undefined): TokenIds & { from: 'file' | 'given' } {
  const identity = file.metadata.get('tokenizer');
  const shape = policyShape(file);
  if (identity !== undefined && shape) {
    if (given && given.identity !== identity)
      throw new LabError(
        `the file names another tokenizer (${identity}) than the one given (${given.identity})`,
        {
          where: 'tokenizer',
          remedy: 'give the tokenizer that belongs to the file, or none',
        },
      );
    return { identity, size: shape.vocab, from: 'file' };
  }
  if (given) return { identity: given.identity, size: given.size, from: 'given' };
  throw new LabError('nobody knows its tokenizer', {
    where: 'tokenizer',
    remedy: 'give the tokenizer.json that comes with the model',
  });
}

/** How many rows of logits belong to no id. @throws LabError where there are too few, or more than padding explains. */
function checkRows(rows: number, size: number): number {
  const padded = rows - size;
  if (padded === 0 || (padded > 0 && padded < MOST_PADDED && rows % PADDED_TO === 0)) return padded;
  throw new LabError(`it gives logits for ${rows} ids; its tokenizer has ${size}`, {
    where: 'output logits',
    remedy: 'give the tokenizer that belongs to the model',
  });
}

function factsOf({ file, roles, provider }: OnnxLm): Omit<TeacherFacts, 'paddedIds' | 'tokenizer'> {
  const sizes = file.weights.map(({ dims }) => (dims as number[]).reduce((a, b) => a * b, 1));
  const layers = new Set(roles.cache.map(({ input }) => input.split('.')[1]));
  return {
    provider,
    opset: file.opsets.get('') ?? 0,
    nodes: file.nodes.length,
    weights: sizes.reduce((a, b) => a + b, 0),
    inputs: file.inputs
      .map(({ name }) => name)
      .filter((name) => !roles.cache.some(({ input }) => input === name)),
    cacheLayers: layers.size,
    logits: roles.logits.type,
  };
}

class LoadedTeacher implements Teacher {
  readonly vocab: number;
  readonly context: number | null;
  readonly about: TeacherFacts;
  readonly #lm: OnnxLm;
  /** Entries of a row of logits, padding included. */
  readonly #rows: number;

  constructor(lm: OnnxLm, rows: number, vocab: number, about: TeacherFacts) {
    this.#lm = lm;
    this.#rows = rows;
    this.vocab = vocab;
    this.about = about;
    this.context = policyShape(lm.file)?.context ?? null;
  }

  async logProbs(sequences: Sequences): Promise<Float32Array> {
    const { vocab } = this;
    const out = new Float32Array(sequences.tokens.length * vocab);
    await this.#each(sequences, (n, row, logTotal) => {
      for (let v = 0; v < vocab; v++) out[n * vocab + v] = row[v]! - logTotal;
    });
    return out;
  }

  async topK(sequences: Sequences, k: number): Promise<TopTokens> {
    if (!Number.isInteger(k) || k < 1 || k > this.vocab)
      throw new LabError(`the ${k} most probable of ${this.vocab} tokens`, {
        where: 'topK(k)',
        remedy: `give a whole number from 1 to ${this.vocab}`,
      });
    const count = sequences.tokens.length * k;
    const top: TopTokens = { ids: new Int32Array(count), logProbs: new Float32Array(count) };
    await this.#each(sequences, (n, row, logTotal) => {
      const best = mostProbable(row, this.vocab, k);
      for (const [i, id] of best.entries()) {
        top.ids[n * k + i] = id;
        top.logProbs[n * k + i] = row[id]! - logTotal;
      }
    });
    return top;
  }

  destroy(): Promise<void> {
    return this.#lm.destroy();
  }

  /** Rows of logits with log Σ exp of the ids that there are. */
  async #each(
    sequences: Sequences,
    take: (n: number, row: Float32Array, logTotal: number) => void,
  ): Promise<void> {
    this.#check(sequences);
    await eachRow(this.#lm, sequences, this.#rows, (n, row) => {
      let top = -Infinity;
      for (let v = 0; v < this.vocab; v++) top = Math.max(top, row[v]!);
      let total = 0;
      for (let v = 0; v < this.vocab; v++) total += Math.exp(row[v]! - top);
      take(n, row, top + Math.log(total));
    });
  }

  #check({ tokens, starts }: Sequences): void {
    if (starts.length !== tokens.length)
      throw new LabError(`${starts.length} starts for ${tokens.length} tokens`, {
        where: 'starts',
        remedy: 'give one a token',
      });
    for (const [n, token] of tokens.entries()) {
      checkToken(token, this.vocab, `tokens[${n}]`);
      if (this.context !== null && n - starts[n]! >= this.context)
        throw new LabError(`a sequence longer than the teacher’s context of ${this.context}`, {
          where: `tokens[${n}]`,
          remedy: 'cut it',
        });
    }
  }
}

/** Ids of the k largest of the first `vocab` entries, largest first: one pass with a list kept in order. */
function mostProbable(row: Float32Array, vocab: number, k: number): number[] {
  const best: number[] = [];
  for (let id = 0; id < vocab; id++) {
    if (best.length === k && !(row[id]! > row[best[k - 1]!]!)) continue;
    let at = Math.min(best.length, k - 1);
    while (at > 0 && row[id]! > row[best[at - 1]!]!) {
      best[at] = best[at - 1]!;
      at -= 1;
    }
    best[at] = id;
  }
  return best;
}

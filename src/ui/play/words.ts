import type { Agreement } from '../../lab/play.ts';
import type { DeviceInfo } from '../../policy/engine.ts';
import type { OnnxProvider } from '../../policy/onnx/lm.ts';
import type { TeacherFacts } from '../../policy/onnx/teacher.ts';
import { count, counted, figure } from '../words.ts';

/** Two computations of a policy agree where no logit differs by more than this. */
export const AGREE = 1e-4;

export const PROVIDERS: Record<OnnxProvider, { title: string; megabytes: number }> = {
  wasm: { title: 'WebAssembly, on the processor', megabytes: 14 },
  webgpu: { title: 'WebGPU, on the graphics device', megabytes: 27 },
};

/** Bytes as a reader counts them: `73.2 kB`, `12.4 MB`. */
export const fileSize = (bytes: number): string =>
  bytes < 1e6 ? `${figure(bytes / 1e3)} kB` : `${figure(bytes / 1e6)} MB`;

/** Where the lab's engine ran. */
export const engineName = ({ backend, name }: DeviceInfo): string =>
  backend === 'webgpu' ? `WebGPU, ${name}` : `processor, ${name}`;

/** The measured difference as a sentence. */
export function agreementWords({ difference, spread, positions, engine }: Agreement): string {
  const verdict = difference <= AGREE ? 'They agree' : 'They do not agree';
  return (
    `${verdict}: over ${counted(positions, 'token')} the largest difference of a logit from the lab’s own engine ` +
    `(${engineName(engine)}) is ${figure(difference)}, where logits span ${figure(spread)}; the limit is ${figure(AGREE)}.`
  );
}

/** What was recognised in a file that can be a teacher. */
export function teacherWords(name: string, facts: TeacherFacts): string {
  const { weights, opset, inputs, cacheLayers, logits, paddedIds, tokenizer } = facts;
  const cache = cacheLayers > 0 ? `a cache of ${counted(cacheLayers, 'layer')}` : 'no cache';
  const padding =
    paddedIds > 0 ? ` ${counted(paddedIds, 'row')} of its logits belong to no token and are left out.` : '';
  const ids = tokenizer === 'file' ? 'The file names its tokenizer' : 'Its tokenizer was given';
  return (
    `${name} can teach here: a causal language model of ${count(weights)} stored numbers (opset ${opset}; inputs ` +
    `${inputs.join(', ')}; ${cache}; logits in ${logits}). ${ids}; it is the student’s.${padding}`
  );
}

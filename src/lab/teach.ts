import type { OnnxProvider, OnnxRuntime } from '../policy/onnx/lm.ts';
import { checkTeacherSize, importTeacher, type Teacher } from '../policy/onnx/teacher.ts';
import { createWordTokenizer, loadTokenizer } from '../policy/tokenizer/index.ts';
import { worldById } from '../world/index.ts';

/** A model file that may teach, and the tokenizer.json that came with it. */
export interface TeacherFile {
  model: Blob;
  tokenizer: Blob | null;
}

/**
 * Loads a teacher for students of a world: their tokens are the world's closed vocabulary.
 * @throws LabError as `importTeacher` and `loadTokenizer`.
 */
export async function teacherFor(
  world: string,
  { model, tokenizer }: TeacherFile,
  runtime: OnnxRuntime,
  provider: OnnxProvider,
): Promise<Teacher> {
  checkTeacherSize(model.size);
  const student = createWordTokenizer(worldById(world).language.vocabulary);
  const given = tokenizer ? { tokenizer: loadTokenizer(await tokenizer.text()) } : {};
  const bytes = new Uint8Array(await model.arrayBuffer());
  return importTeacher(runtime, bytes, { provider, student, ...given });
}

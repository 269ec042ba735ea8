import type { PlayApi } from '../../../workers/play.ts';
import { unwrap } from '../../lab/outcome.ts';
import type { PlayEvent, PlayRequest } from '../../lab/play.ts';
import type { Checkpoint } from '../../policy/engine.ts';
import type { TeacherFacts } from '../../policy/onnx/teacher.ts';
import { pull, replaced } from '../services.ts';

/** What the play worker does for the page. */
export interface PlayService {
  play(request: PlayRequest): AsyncIterable<PlayEvent>;
  /** The policy as an ONNX file. */
  file(world: string, checkpoint: Checkpoint): Promise<Blob>;
  /** What a file is as a teacher for students of a world. @throws LabError that says why it is none. */
  teacher(world: string, model: Blob, tokenizer: Blob | null): Promise<TeacherFacts>;
}

const worker = replaced<PlayApi>(
  () => new Worker(new URL('../../../workers/play.ts', import.meta.url), { type: 'module' }),
  { what: 'The worker that plays', where: 'play worker' },
);

export const playService: PlayService = {
  play: (request) => {
    const { remote, answered } = worker();
    return pull<PlayEvent>(remote, remote.play(request), answered);
  },
  async file(world, checkpoint) {
    const { remote, answered } = worker();
    const bytes = unwrap(await answered(remote.file(world, checkpoint)));
    return new Blob([bytes as Uint8Array<ArrayBuffer>], { type: 'application/octet-stream' });
  },
  async teacher(world, model, tokenizer) {
    const { remote, answered } = worker();
    return unwrap(await answered(remote.teacher(world, model, tokenizer)));
  },
};

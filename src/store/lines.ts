import { LabError } from '../base/errors.ts';

/** Longest line that is read: a checkpoint of 10 million parameters has 160 MB. */
const MAX_LINE = 400_000_000;

/** The lines of a text file, read piece by piece, without their line breaks; empty lines are left out. */
export async function* readLines(file: Blob): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let pieces: string[] = [];
  let length = 0;
  const take = () => {
    const line = pieces.join('').replace(/\r$/, '');
    pieces = [];
    length = 0;
    return line;
  };
  const reader = file.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    let text = decode(decoder, value, !done);
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n')) {
      pieces.push(text.slice(0, at));
      text = text.slice(at + 1);
      const line = take();
      if (line !== '') yield line;
    }
    pieces.push(text);
    length += text.length;
    if (length > MAX_LINE) {
      await reader.cancel();
      throw new LabError('The file has a line of more than 400 million characters', {
        remedy: 'This is no export of the lab.',
      });
    }
    if (done) break;
  }
  const last = take();
  if (last !== '') yield last;
}

function decode(decoder: TextDecoder, bytes: Uint8Array | undefined, more: boolean): string {
  try {
    return decoder.decode(bytes, { stream: more });
  } catch (cause) {
    throw new LabError('The file is not UTF-8 text', {
      remedy: 'Choose an export of the lab. Nothing was changed.',
      cause,
    });
  }
}

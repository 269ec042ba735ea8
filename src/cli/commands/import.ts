import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { writeTrajectory } from '../../trace/formats/lab.ts';
import { callsOf } from '../../trace/model.ts';
import { readTraces } from '../../trace/read.ts';
import type { Command } from '../command.ts';
import { findFiles } from '../files.ts';

interface FileRow {
  path: string;
  format: string;
  trajectories: number;
  calls: number;
  errors: number;
}

/** Reads trace files, says what is in them, and writes them as the lab's own lossless JSONL. */
export const importTraces: Command = {
  usage: {
    name: 'import',
    operands: 'FILES…',
    count: [1, Number.POSITIVE_INFINITY],
    summary: 'Reads trace files in any known format; --out writes them as one JSONL file.',
    options: [{ name: 'out', value: 'F.jsonl', help: 'write all trajectories there, one a line' }],
  },
  async run(input, terminal) {
    const out = input.get('out');
    const target = out ? createWriteStream(out) : null;
    const failed = target
      ? once(target, 'error').then(([error]) => Promise.reject(error))
      : new Promise<never>(() => {});
    failed.catch(() => {});
    const files: FileRow[] = [];
    const rejected: { path: string; where: string; reason: string }[] = [];
    for (const source of findFiles(input.operands)) {
      const row: FileRow = { path: source.path, format: '', trajectories: 0, calls: 0, errors: 0 };
      for await (const event of readTraces(source)) {
        if (event.type === 'format') row.format = event.format;
        else if (event.type === 'progress') terminal.progress(source.path, event.bytes, event.total, 'bytes');
        else if (event.type === 'rejected') rejected.push({ ...event.rejection });
        else {
          const calls = callsOf(event.trajectory);
          row.trajectories++;
          row.calls += calls.length;
          row.errors += calls.filter((call) => call.error !== null).length;
          if (target && !target.write(`${writeTrajectory(event.trajectory)}\n`))
            await Promise.race([once(target, 'drain'), failed]);
        }
      }
      if (row.format) files.push(row);
    }
    if (target) {
      target.end();
      await Promise.race([once(target, 'finish'), failed]);
    }
    terminal.table(
      ['file', 'format', 'trajectories', 'calls', 'errors'],
      files.map((row) => [row.path, row.format, row.trajectories, row.calls, row.errors]),
    );
    for (const one of rejected) terminal.say(`${one.path}: ${one.where}: ${one.reason}`);
    terminal.result({ files: files.map((row) => ({ ...row })), rejected });
    return files.length === 0 ? 1 : 0;
  },
};

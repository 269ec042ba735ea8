import { isObject, type Json } from '../src/base/json.ts';
import type { RunEvent } from '../src/lab/services.ts';
import type { RunSpec } from '../src/methods/method.ts';

/** What a recording says before its events. */
export interface RecordingHead {
  type: 'recording';
  /** ISO 8601. */
  date: string;
  device: string;
  spec: RunSpec;
  /** Events that follow. */
  events: number;
}

/** A run that was recorded before the page was built: its head, then its events. Nothing where there is no such file. */
export async function* readRecording(address: string): AsyncGenerator<RecordingHead | RunEvent> {
  const answer = await fetch(address);
  if (!answer.ok || !/json/.test(answer.headers.get('content-type') ?? '')) return;
  const file: Json = await answer.json();
  if (!isObject(file) || file.version !== 1 || !Array.isArray(file.events) || !isObject(file.spec)) return;
  const { date, device, spec, events } = file;
  yield {
    type: 'recording',
    date: String(date),
    device: String(device),
    spec: spec as unknown as RunSpec,
    events: events.length,
  };
  yield* events as unknown as RunEvent[];
}

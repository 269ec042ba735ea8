import type { LabDevice } from '../../gpu/device.ts';
import { measureEngine } from '../../lab/bench/measure.ts';
import type { PeerName } from '../../lab/bench/peers/peer.ts';
import { FULL } from '../../lab/bench/plan.ts';
import type { BenchRow } from '../../lab/bench/row.ts';
import type { Terminal } from '../terminal.ts';
import { loadRuntime, pretendBrowser } from './browser.ts';

/** Rows of the engine's benchmark and the libraries that took part, by version. */
export interface EngineBench {
  rows: BenchRow[];
  versions: Record<string, string>;
  remarks: string[];
}

/**
 * Measures the engine, and the libraries beside it in this same process.
 * @param gpu Dawn's GPU object, on which the libraries open devices of their own; `null` for the processor.
 */
export async function benchEngine(
  device: LabDevice | null,
  gpu: GPU | null,
  against: PeerName[],
  terminal: Terminal,
): Promise<EngineBench> {
  if (against.length > 0) pretendBrowser(gpu);
  const bench: EngineBench = { rows: [], versions: {}, remarks: [] };
  for await (const event of measureEngine(device, { ...FULL, against }, loadRuntime))
    if (event.type === 'row') bench.rows.push(event.row);
    else if (event.type === 'version') bench.versions[event.name] = event.version;
    else if (event.type === 'progress') terminal.progress(event.what, event.done, event.of, 'parts');
    else {
      bench.remarks.push(event.text);
      terminal.say(event.text);
    }
  return bench;
}

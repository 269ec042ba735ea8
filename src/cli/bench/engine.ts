import type { LabDevice } from '../../gpu/device.ts';
import { describeDevice } from '../../lab/bench/here.ts';
import { measureEngine } from '../../lab/bench/measure.ts';
import type { PeerName } from '../../lab/bench/peers/peer.ts';
import { type BenchPlan, FULL } from '../../lab/bench/plan.ts';
import { type BenchTable, emptyTable, withEvent } from '../../lab/bench/table.ts';
import type { Terminal } from '../terminal.ts';
import { loadRuntime, pretendBrowser } from './browser.ts';

/**
 * Measures the engine, and the libraries beside it in this same process.
 * @param gpu Dawn's GPU object, on which the libraries open devices of their own; `null` for the processor.
 */
export async function benchEngine(
  device: LabDevice | null,
  gpu: GPU | null,
  against: PeerName[],
  terminal: Terminal,
  plan: BenchPlan = FULL,
): Promise<BenchTable> {
  if (against.length > 0) pretendBrowser(gpu);
  let table = emptyTable(new Date().toISOString(), `Node.js ${process.version}`);
  table = withEvent(table, { type: 'device', device: describeDevice(device) });
  for await (const event of measureEngine(device, { ...plan, against }, loadRuntime)) {
    table = withEvent(table, event);
    if (event.type === 'progress') terminal.progress(event.what, event.done, event.of, 'parts');
    else if (event.type === 'remark') terminal.say(event.text);
  }
  return table;
}

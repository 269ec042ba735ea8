import { type LabDevice, openDevice } from '../../../src/gpu/device.ts';
import { Bench } from '../bench.ts';
import { CASES } from '../cases/index.ts';
import { type Failure, prove } from '../prove.ts';

/** What came of one case in the browser: its failures, the kernels that ran, or why it cannot run here. */
export interface PageVerdict {
  failures: Failure[];
  labels: string[];
  skipped: string | null;
}

/** What the page offers to the test. */
export interface KernelPage {
  /** Opens the device and says its name. */
  open(): Promise<string>;
  /** Proves one case at its brief counts. */
  prove(name: string, seed: string): Promise<PageVerdict>;
}

let device: LabDevice | null = null;

const page: KernelPage = {
  async open() {
    device = await openDevice(navigator.gpu);
    return device.report.name;
  },
  async prove(name, seed) {
    const kernelCase = CASES.find((one) => one.name === name);
    if (!device || !kernelCase) throw new Error(`no device or no case ${name}`);
    if (kernelCase.quads && !device.report.quads)
      return { failures: [], labels: [], skipped: 'this browser opens no subgroups of 4 lanes' };
    const bench = new Bench(device);
    const failures: Failure[] = [];
    for (const n of kernelCase.brief) failures.push(...(await prove(kernelCase, n, seed, bench)));
    return { failures, labels: [...bench.labels], skipped: null };
  },
};

Object.assign(window, { kernelPage: page });

import { failureKind, LabError } from '../base/errors.ts';
import { type LabDevice, openDevice } from './device.ts';
import { deviceLost, explain } from './failure.ts';

/** Milliseconds between tries to open another device after one was lost: a driver that restarts takes its time. */
const PATIENCE = [250, 1000, 3000];

/** A place for one device at a time: opened when first asked for, replaced from a new adapter where it was lost. */
export class DeviceSlot {
  readonly #gpu: () => Promise<GPU | undefined> | GPU | undefined;
  readonly #wait: (milliseconds: number) => Promise<void>;
  #opened: Promise<LabDevice> | null = null;
  /** The device that was opened last: where there was one, there should be one again. */
  #last: LabDevice | null = null;

  /** @param gpu where devices come from, asked anew each time. @param wait sleeps; for tests. */
  constructor(
    gpu: () => Promise<GPU | undefined> | GPU | undefined,
    wait = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds)),
  ) {
    this.#gpu = gpu;
    this.#wait = wait;
  }

  /** Whether a device was ever open here. */
  get had(): boolean {
    return this.#last !== null;
  }

  /**
   * The device.
   * @throws LabError as `openDevice` does; of kind "device lost" where there was a device and several tries brought no other.
   */
  get(): Promise<LabDevice> {
    if (this.#opened) return this.#opened;
    const opening = this.#last ? this.#again() : this.#first();
    this.#opened = opening;
    const forget = () => {
      if (this.#opened === opening) this.#opened = null;
    };
    opening.then((device) => {
      this.#last = device;
      void device.lost.then(forget);
    }, forget);
    return opening;
  }

  /**
   * Hears of what broke work on the device. After a failure of any kind the next to ask gets another device.
   * @returns the error to throw in its place: on a lost device everything fails, in words that do not say why.
   */
  async failed(error: unknown): Promise<unknown> {
    const told = this.#last ? await explain(error, this.#last, 'policy') : error;
    if (failureKind(told) !== null) await this.close();
    return told;
  }

  /** Destroys the device, if one is open. */
  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = null;
    await opened?.then(
      (device) => device.destroy(),
      () => undefined,
    );
  }

  async #open(): Promise<LabDevice> {
    return openDevice(await this.#gpu());
  }

  async #first(): Promise<LabDevice> {
    try {
      return await this.#open();
    } catch (error) {
      // One that is lost while it is opened shows that there are devices here.
      if (failureKind(error) === null) throw error;
      return this.#again();
    }
  }

  async #again(): Promise<LabDevice> {
    for (const pause of PATIENCE) {
      try {
        return await this.#open();
      } catch {
        await this.#wait(pause);
      }
    }
    try {
      return await this.#open();
    } catch (cause) {
      const why = cause instanceof LabError ? cause.message : String(cause);
      throw deviceLost({ own: false, message: `no other could be opened (${why})` }, 'WebGPU', cause);
    }
  }
}

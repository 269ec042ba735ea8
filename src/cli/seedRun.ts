import { setImmediate as nextTurn } from 'node:timers/promises';
import { exportOptions } from '../lab/play.ts';
import { methods } from '../lab/registry.ts';
import type { RunEvent } from '../lab/services.ts';
import { demonstration } from '../learn/demonstration.ts';
import type { RunSpec } from '../methods/method.ts';
import type { DeviceInfo } from '../policy/engine.ts';
import type { ExportOptions } from '../policy/onnx/export.ts';
import type { Task } from '../task/model.ts';
import { worlds } from '../world/index.ts';
import type { RunFolder, SeedResult } from './runFolder.ts';
import type { Terminal } from './terminal.ts';

interface Recording {
  spec: RunSpec;
  place: RunFolder;
  terminal: Terminal;
  signal: AbortSignal;
  /** Several seeds: lines name theirs. */
  many: boolean;
}

/** Drives a run to its end and writes what it tells into its folder. Null where it was stopped on the way. */
export async function recordRun(
  events: AsyncGenerator<RunEvent>,
  recording: Recording,
): Promise<SeedResult | null> {
  const { spec, place, terminal, signal } = recording;
  const prefix = recording.many ? `seed ${spec.seed} ` : '';
  const clock = new StageClock();
  let rejected = 0;
  let device: DeviceInfo | null = null;
  for await (const event of events) {
    switch (event.type) {
      case 'progress': {
        const left = clock.left(`${event.stage}/${event.arm ?? ''}`, event.done, event.total);
        terminal.progress(
          `${prefix}${event.arm ? `${event.arm} ` : ''}${event.stage}`,
          event.done,
          event.total,
          event.unit,
          left,
        );
        break;
      }
      case 'graph':
        terminal.say(`${prefix}graph: ${event.graph.nodes.length} nodes, ${event.graph.edges.length} edges`);
        break;
      case 'verdicts':
        rejected += event.verdicts.filter((verdict) => !verdict.passed).length;
        break;
      case 'dataset':
        terminal.say(
          `${prefix}tasks: ${event.tasks.train.length} to train, ${event.tasks.heldOut.length} unseen, ${rejected} rejected; set ${event.hash}`,
        );
        place.dataset(event.tasks, event.hash, rejected, sequenceOf);
        break;
      case 'device':
        device = event.device;
        terminal.say(
          `${prefix}policy: ${event.parameters} parameters on ${event.device.backend} (${event.device.name})`,
        );
        break;
      case 'steps':
        for (const { step, loss, gradientNorm, tokens, trained } of event.stats)
          place.metric({ arm: event.arm, step, loss, gradientNorm, tokens, trained });
        break;
      case 'evaluation': {
        const { arm, step, success, metrics } = event;
        place.metric({ arm, step, success, ...metrics });
        place.evaluated(arm, { success: success.mean, ...metrics });
        terminal.say(
          `${prefix}${arm} step ${step}: success ${percent(success.mean)} [${percent(success.low)}, ${percent(success.high)}] of ${success.n}`,
        );
        break;
      }
      case 'checkpoint':
        place.checkpoint(event.arm, event.checkpoint);
        break;
      case 'arm':
        place.finishArm(event.arm, onnxOptions(spec));
        break;
      case 'recovery':
        terminal.say(`${prefix}${event.text}`);
        break;
      case 'done': {
        const result = { seed: spec.seed, summary: event.summary, device };
        place.finish(result);
        return result;
      }
    }
    // The processor trains without ever waiting: signals are heard only here.
    await nextTurn();
    if (signal.aborted) return null;
  }
  return null;
}

/** The file is to be played by others: with its cache, and with the tokens of its world. */
function onnxOptions({ method }: RunSpec): ExportOptions {
  const world = methods.find(({ id }) => id === method)?.world;
  return world === undefined ? { cache: true } : exportOptions(world);
}

/** Token row of a task, in the language of its world: what the policy trains on. */
function sequenceOf(task: Task): object {
  const world = worlds.get(task.world);
  return world ? demonstration(task, world.language) : {};
}

const percent = (share: number) => `${(100 * share).toFixed(1)}%`;

/** Time left of a stage, from its own pace since it was first heard of. */
class StageClock {
  #stage = '';
  #began = 0;
  #from = 0;

  left(stage: string, done: number, total: number): number | undefined {
    const now = performance.now();
    if (stage !== this.#stage || done < this.#from) {
      this.#stage = stage;
      this.#began = now;
      this.#from = done;
    }
    if (total <= 0 || done <= this.#from) return undefined;
    return ((now - this.#began) / 1000 / (done - this.#from)) * (total - done);
  }
}

import type { RunEvent } from '../../lab/services.ts';
import { count, counted, duration, percent } from '../words.ts';

/** One line of the run's log, or `null` for what happens too often to be told. `title` names arms. */
export function logLine(event: RunEvent, title: (arm: string) => string): string | null {
  switch (event.type) {
    case 'graph': {
      const { nodes, edges, sources } = event.graph;
      const kinds = (['data', 'state', 'retry'] as const).map(
        (kind) => `${count(edges.filter((edge) => edge.kind === kind).length)} ${kind}`,
      );
      const calls = sources.reduce((sum, source) => sum + source.calls, 0);
      return `Graph: ${counted(nodes.length, 'node')}, ${counted(edges.length, 'edge')} (${kinds.join(', ')}) from ${counted(calls, 'call')}.`;
    }
    case 'dataset':
      return `Tasks ${event.hash}: ${count(event.of?.train ?? event.tasks.train.length)} to train on, ${count(event.of?.heldOut ?? event.tasks.heldOut.length)} unseen.`;
    case 'device':
      return `Policy: ${counted(event.parameters, 'parameter')}, width ${event.shape.width}, ${counted(event.shape.layers, 'layer')}, on ${event.device.name} (${event.device.backend === 'webgpu' ? 'WebGPU' : 'the processor'}).`;
    case 'evaluation': {
      const { mean, low, high, n } = event.success;
      return `${title(event.arm)}, step ${count(event.step)}: ${percent(mean)} of ${counted(n, 'unseen task')} [${percent(low)}, ${percent(high)}].`;
    }
    case 'checkpoint':
      return `${title(event.arm)}: checkpoint of step ${count(event.checkpoint.step)}.`;
    case 'recovery':
      return event.text;
    case 'done':
      return `Done in ${duration(event.summary.seconds)}.`;
    default:
      return null;
  }
}

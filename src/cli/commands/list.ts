import { methods } from '../../methods/index.ts';
import { formats } from '../../trace/formats/index.ts';
import { worlds } from '../../world/index.ts';
import type { Command } from '../command.ts';

/** What the lab has: methods, worlds, trace formats. */
export const list: Command = {
  usage: {
    name: 'list',
    operands: '',
    count: [0, 0],
    summary: 'Methods, worlds and trace formats.',
    options: [],
  },
  async run(_input, terminal) {
    terminal.table(
      ['method', 'title', 'arms', 'presets', 'claims'],
      methods.map((method) => [
        method.id,
        method.title,
        method.arms.map((arm) => arm.id).join(' '),
        Object.keys(method.presets).join(' '),
        method.claims.map((claim) => claim.id).join(' '),
      ]),
    );
    terminal.say('');
    terminal.table(
      ['world', 'title', 'tools'],
      [...worlds.values()].map((world) => [world.id, world.title, world.tools.length]),
    );
    terminal.say('');
    terminal.table(
      ['format', 'title'],
      formats.map((format) => [format.id, format.title]),
    );
    terminal.result({
      methods: methods.map((method) => ({
        id: method.id,
        title: method.title,
        arms: method.arms.map((arm) => arm.id),
        presets: Object.keys(method.presets),
        claims: method.claims.map((claim) => claim.id),
      })),
      worlds: [...worlds.keys()],
      formats: formats.map((format) => format.id),
    });
    return 0;
  },
};

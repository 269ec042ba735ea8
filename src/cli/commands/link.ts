import { encodeLink } from '../../lab/link.ts';
import type { Command } from '../command.ts';
import { chooseSpecs, SPEC_OPTIONS } from '../spec.ts';
import { UsageError } from '../usage.ts';

/** The link that opens an experiment with this configuration and seed. */
export const link: Command = {
  usage: {
    name: 'link',
    operands: 'METHOD',
    count: [1, 1],
    summary: 'The link that opens this experiment in a browser.',
    options: [
      ...SPEC_OPTIONS.filter(({ name }) => name !== 'seeds'),
      { name: 'seeds', value: 'S', help: 'the seed (default 1)' },
      { name: 'base', value: 'URL', help: 'where the page is served (default http://localhost:4173/)' },
    ],
  },
  async run(input, terminal) {
    const { method, specs } = chooseSpecs(input);
    const [spec] = specs;
    if (!spec || specs.length > 1) throw new UsageError('A link opens one run: give one seed.');
    const url = await encodeLink(method, spec, input.get('base') ?? 'http://localhost:4173/');
    terminal.say(url);
    terminal.result({ url });
    return 0;
  },
};

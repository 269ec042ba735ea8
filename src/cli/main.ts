import { LabError } from '../base/errors.ts';
import type { Command } from './command.ts';
import { bench } from './commands/bench.ts';
import { graph } from './commands/graph.ts';
import { importTraces } from './commands/import.ts';
import { link } from './commands/link.ts';
import { list } from './commands/list.ts';
import { run } from './commands/run.ts';
import { Terminal } from './terminal.ts';
import { help, line, parse, suggest, UsageError } from './usage.ts';

const COMMANDS: Command[] = [list, importTraces, graph, run, link, bench];

function overview(): string {
  const lines = COMMANDS.map(({ usage }) => `  ${usage.name.padEnd(8)} ${usage.summary}`);
  return [
    'Rollout Lab: agent training, headless.',
    '',
    ...lines,
    '',
    'npm run lab -- COMMAND --help tells more.',
  ].join('\n');
}

/** What the system refuses (no space, no permission) is said in its own words; anything else is a fault of ours and shows where. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && 'syscall' in error ? error.message : (error.stack ?? error.message);
}

/** Runs one command line. Exit status: 0 done, 1 the run failed, 2 wrong usage. */
async function main(words: string[]): Promise<number> {
  const [name, ...rest] = words;
  if (name === undefined || name === '--help' || name === 'help') {
    console.log(overview());
    return name === undefined ? 2 : 0;
  }
  const command = COMMANDS.find(({ usage }) => usage.name === name);
  if (!command) {
    console.error(
      `There is no command "${name}". ${suggest(
        name,
        COMMANDS.map(({ usage }) => usage.name),
      )}`,
    );
    return 2;
  }
  try {
    const input = parse(command.usage, rest);
    if (input.has('help')) {
      console.log(help(command.usage));
      return 0;
    }
    return await command.run(input, new Terminal(input.has('json')));
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`${error.message}\n${line(command.usage)}`);
      return 2;
    }
    if (error instanceof LabError) console.error(error.toString());
    else console.error(describe(error));
    return 1;
  }
}

// Output to a pipe that was closed (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
});
const status = await main(process.argv.slice(2));
// Dawn keeps the process alive, and standard output to a pipe may still be draining.
process.stdout.write('', () => process.exit(status));

import type { Terminal } from './terminal.ts';
import type { Parsed, Usage } from './usage.ts';

/** A command: how it is called and what it does. Returns the exit status. */
export interface Command {
  usage: Usage;
  run(input: Parsed, terminal: Terminal): Promise<number>;
}

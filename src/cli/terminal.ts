import type { Json } from '../base/json.ts';

/** Where a command speaks: to a person, or with `--json` to a program (then all but the object goes to stderr). */
export class Terminal {
  readonly json: boolean;
  #shown = '';
  #last = 0;

  constructor(json: boolean) {
    this.json = json;
  }

  /** A line for a person. */
  say(text: string): void {
    this.#clear();
    (this.json ? process.stderr : process.stdout).write(`${text}\n`);
  }

  /** A table with a header; numbers stand to the right. */
  table(header: string[], rows: (string | number)[][]): void {
    const cells = [header, ...rows.map((row) => row.map(String))];
    const width = header.map((_, i) => Math.max(...cells.map((row) => row[i]?.length ?? 0)));
    const right = header.map((_, i) =>
      rows.every((row) => typeof row[i] === 'number' || /^[\d.,–%()[\] +-]*$/.test(String(row[i]))),
    );
    cells.forEach((row, r) => {
      this.say(
        row
          .map((cell, i) => (right[i] ? cell.padStart(width[i]!) : cell.padEnd(width[i]!)))
          .join('  ')
          .trimEnd(),
      );
      if (r === 0) this.say(width.map((n) => '─'.repeat(n)).join('  '));
    });
  }

  /** Progress: a bar that redraws itself on a terminal, a plain line every few seconds in a pipe. */
  progress(label: string, done: number, total: number, unit: string, secondsLeft?: number): void {
    const now = Date.now();
    const finished = total > 0 && done >= total;
    const every = process.stderr.isTTY ? 100 : 5000;
    if (now - this.#last < every && !finished) return;
    this.#last = now;
    const share = total > 0 ? Math.min(1, done / total) : 0;
    const left =
      secondsLeft !== undefined && Number.isFinite(secondsLeft) && !finished
        ? `, ${duration(secondsLeft)} left`
        : '';
    const count = `${done}${total > 0 ? `/${total}` : ''} ${unit}${left}`;
    if (!process.stderr.isTTY) {
      process.stderr.write(`${label}: ${count}\n`);
      return;
    }
    const filled = Math.round(share * 24);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(24 - filled)}`;
    this.#clear();
    this.#shown = `${label.padEnd(22)} ${bar} ${count}`.slice(0, (process.stderr.columns ?? 100) - 1);
    process.stderr.write(this.#shown);
  }

  /** The closing object of `--json`, alone on the last line of standard output. */
  result(object: Json): void {
    this.#clear();
    if (this.json) process.stdout.write(`${JSON.stringify(object)}\n`);
  }

  #clear(): void {
    if (this.#shown) process.stderr.write(`\r${' '.repeat(this.#shown.length)}\r`);
    this.#shown = '';
  }
}

/** "2 min 05 s". */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
}

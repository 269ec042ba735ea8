const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const THIN = '\u202f';

/** A count with thin spaces between the thousands: `12 000`. */
export function count(n: number): string {
  return WHOLE.format(n).replaceAll(',', THIN);
}

/** A count and its noun: `1 task`, `3 tasks`. */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** A number with up to three significant digits, exponents where it is very small: `0.0314`, `4e-3`. */
export function figure(x: number): string {
  if (!Number.isFinite(x)) return '–';
  if (x === 0) return '0';
  const size = Math.abs(x);
  if (size >= 1000) return count(Math.round(x));
  if (size < 0.001) return x.toExponential(1).replace('e-', 'e−').replace(/^-/, '−');
  return String(Number(x.toPrecision(3))).replace(/^-/, '−');
}

/** A share as a percentage, `87%`; a figure with two decimals would suggest more than 400 tasks can tell. */
export function percent(share: number): string {
  return Number.isFinite(share) ? `${Math.round(share * 100)}%` : '–';
}

/** Seconds in the two units a reader would choose: `8 s`, `2 min 5 s`, `1 h 20 min`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–';
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600)
    return whole % 60 && whole < 600
      ? `${Math.floor(whole / 60)} min ${whole % 60} s`
      : `${Math.round(whole / 60)} min`;
  return `${Math.floor(whole / 3600)} h ${Math.round((whole % 3600) / 60)} min`;
}

/** An instant in the reader's own time zone: `30 Nov 2026, 23:04`. */
export function moment(time: number | string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return 'an unknown date';
  return date.toLocaleString('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  });
}

/** One sentence for the reader about something that was thrown. */
export function sentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === 'LabError' ? error.toString() : error.message;
}

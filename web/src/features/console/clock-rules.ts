/** How far a clock has come, from 0 to 1. */
export function progress(from: number, now: number, target: number): number {
  if (target <= from) return 1;
  return Math.min(1, Math.max(0, (now - from) / (target - from)));
}

/** Unix seconds as the value of a `datetime-local` input, in the reader's zone. */
export function localInput(seconds: number): string {
  const date = new Date(seconds * 1000);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/** The progress of a clock, from 0 to 1. */
export function progress(from: number, now: number, target: number): number {
  if (target <= from) return 1;
  return Math.min(1, Math.max(0, (now - from) / (target - from)));
}

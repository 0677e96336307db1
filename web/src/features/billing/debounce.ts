/** SPEC.md 9: overdue balances are loaded again this long after the last event, and at most this long after the first. */
export const QUIET_MS = 1000;
export const LONGEST_MS = 5000;

export interface Debounced {
  (): void;
  cancel: () => void;
}

/** Runs once things have been quiet for `quiet` ms, and not later than `longest` ms after the first call. */
export function debounced(run: () => void, quiet = QUIET_MS, longest = LONGEST_MS): Debounced {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let first: number | undefined;
  const fire = () => {
    first = undefined;
    run();
  };
  const call = () => {
    clearTimeout(timer);
    first ??= Date.now();
    timer = setTimeout(fire, Math.max(0, Math.min(quiet, first + longest - Date.now())));
  };
  call.cancel = () => {
    clearTimeout(timer);
    first = undefined;
  };
  return call;
}

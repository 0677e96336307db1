/** SPEC.md 9: overdue balances reload this long after the last event, and at most this long after the first. */
export const DEBOUNCE_MS = 1000;
export const DEBOUNCE_MAX_MS = 5000;

export interface Debounced {
  (): void;
  cancel: () => void;
}

/** Calls `run` when no call has come for `delay` ms, and at most `maxDelay` ms after the first call. */
export function debounce(run: () => void, delay = DEBOUNCE_MS, maxDelay = DEBOUNCE_MAX_MS): Debounced {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let firstCallAt: number | undefined;
  const fire = () => {
    firstCallAt = undefined;
    run();
  };
  const call = () => {
    clearTimeout(timer);
    firstCallAt ??= Date.now();
    timer = setTimeout(fire, Math.max(0, Math.min(delay, firstCallAt + maxDelay - Date.now())));
  };
  call.cancel = () => {
    clearTimeout(timer);
    firstCallAt = undefined;
  };
  return call;
}

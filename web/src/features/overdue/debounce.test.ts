import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { debounce } from './debounce';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('runs once after a second without calls', () => {
  const run = vi.fn();
  const call = debounce(run);
  call();
  vi.advanceTimersByTime(900);
  call();
  vi.advanceTimersByTime(999);
  expect(run).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(run).toHaveBeenCalledTimes(1);
});

it('waits at most five seconds', () => {
  const run = vi.fn();
  const call = debounce(run);
  for (let passed = 0; passed < 5000; passed += 500) {
    call();
    vi.advanceTimersByTime(500);
  }
  expect(run).toHaveBeenCalledTimes(1);
});

it('does nothing after it is canceled', () => {
  const run = vi.fn();
  const call = debounce(run);
  call();
  call.cancel();
  vi.advanceTimersByTime(10_000);
  expect(run).not.toHaveBeenCalled();
});

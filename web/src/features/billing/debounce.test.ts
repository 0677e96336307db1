import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { debounced } from './debounce';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('runs once after a second of quiet', () => {
  const run = vi.fn();
  const call = debounced(run);
  call();
  vi.advanceTimersByTime(900);
  call();
  vi.advanceTimersByTime(999);
  expect(run).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(run).toHaveBeenCalledTimes(1);
});

it('does not wait longer than five seconds however busy it is', () => {
  const run = vi.fn();
  const call = debounced(run);
  for (let passed = 0; passed < 5000; passed += 500) {
    call();
    vi.advanceTimersByTime(500);
  }
  expect(run).toHaveBeenCalledTimes(1);
});

it('does nothing once it is cancelled', () => {
  const run = vi.fn();
  const call = debounced(run);
  call();
  call.cancel();
  vi.advanceTimersByTime(10_000);
  expect(run).not.toHaveBeenCalled();
});

import { expect, it } from 'vitest';
import { localInput, progress } from './clock-rules';

it('says how far a clock has come, never more than all of the way', () => {
  expect(progress(100, 100, 200)).toBe(0);
  expect(progress(100, 150, 200)).toBe(0.5);
  expect(progress(100, 250, 200)).toBe(1);
  expect(progress(200, 200, 200)).toBe(1);
});

it('writes a moment as a date field reads it: the same minute comes back', () => {
  const seconds = 1_795_000_020;
  expect(Math.floor(new Date(localInput(seconds)).getTime() / 1000)).toBe(seconds - (seconds % 60));
});

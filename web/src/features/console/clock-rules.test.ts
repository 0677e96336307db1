import { expect, it } from 'vitest';
import { progress } from './clock-rules';

it('returns the progress of a clock, at most 1', () => {
  expect(progress(100, 100, 200)).toBe(0);
  expect(progress(100, 150, 200)).toBe(0.5);
  expect(progress(100, 250, 200)).toBe(1);
  expect(progress(200, 200, 200)).toBe(1);
});

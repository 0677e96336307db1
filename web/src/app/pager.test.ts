import { describe, expect, it } from 'vitest';
import { shownPages } from './pager';

describe('the row of pages', () => {
  it('shows all of a few', () => {
    expect(shownPages(1, 3)).toEqual([1, 2, 3]);
    expect(shownPages(2, 3)).toEqual([1, 2, 3]);
  });

  it('shows ends and neighbours of many, with gaps between', () => {
    expect(shownPages(5, 9)).toEqual([1, null, 4, 5, 6, null, 9]);
    expect(shownPages(1, 9)).toEqual([1, 2, null, 9]);
    expect(shownPages(9, 9)).toEqual([1, null, 8, 9]);
  });
});

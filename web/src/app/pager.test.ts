import { describe, expect, it } from 'vitest';
import { visiblePages } from './pager';

describe('pagination', () => {
  it('shows every page when there are few', () => {
    expect(visiblePages(1, 3)).toEqual([1, 2, 3]);
    expect(visiblePages(2, 3)).toEqual([1, 2, 3]);
  });

  it('shows the ends and the neighbors of the current page, with gaps between', () => {
    expect(visiblePages(5, 9)).toEqual([1, null, 4, 5, 6, null, 9]);
    expect(visiblePages(1, 9)).toEqual([1, 2, null, 9]);
    expect(visiblePages(9, 9)).toEqual([1, null, 8, 9]);
  });
});

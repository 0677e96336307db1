import { describe, expect, it } from 'vitest';
import { oneOf, pageParam, parseSearch, stringifySearch } from './search-params';

describe('search parameters', () => {
  it('stay strings, even if they look like numbers', () => {
    expect(parseSearch('?keyword=2048&page=2')).toEqual({ keyword: '2048', page: '2' });
    expect(stringifySearch({ keyword: '2048', page: 2, sort: undefined })).toBe('?keyword=2048&page=2');
    expect(stringifySearch({ keyword: '支付' })).toBe('?keyword=%E6%94%AF%E4%BB%98');
    expect(stringifySearch({})).toBe('');
  });

  it('are dropped when invalid', () => {
    expect(pageParam('0')).toBeUndefined();
    expect(pageParam('1')).toBeUndefined();
    expect(pageParam('x')).toBeUndefined();
    expect(pageParam('3')).toBe(3);
    expect(oneOf(['free', 'paid'], 'cheap')).toBeUndefined();
    expect(oneOf(['free', 'paid'], 'paid')).toBe('paid');
  });
});

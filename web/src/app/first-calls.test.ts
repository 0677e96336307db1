import { describe, expect, it } from 'vitest';
import { firstCalls } from './first-calls';

describe('what a page asks for before its scripts are there', () => {
  it('is the shelves on the store front, and nothing of them where something was searched for', () => {
    expect(firstCalls('/', '?locale=zh')).toEqual(['/api/session', '/api/categories', '/api/apps/shelves']);
    expect(firstCalls('/', '?locale=zh&keyword=a')).toEqual(['/api/session', '/api/categories']);
    expect(firstCalls('/search', '')).toEqual(['/api/session', '/api/categories']);
  });

  it('is the app on its page, below the mount prefix as well', () => {
    expect(firstCalls('/apps/z8iZ1', '')).toEqual(['/api/session', '/api/apps/z8iZ1']);
    expect(firstCalls('/payment/apps/z8iZ1/', '')).toEqual(['/api/session', '/api/apps/z8iZ1']);
    expect(firstCalls('/apps/z8iZ1/1.0.0', '')).toEqual(['/api/session']);
  });

  it('is the session alone elsewhere', () => {
    expect(firstCalls('/customer', '')).toEqual(['/api/session']);
    expect(firstCalls('/payment', '')).toContain('/api/apps/shelves');
  });
});

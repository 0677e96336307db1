import { describe, expect, it } from 'vitest';
import { preloadPaths } from './preload-paths';

describe('what a page asks for before its scripts are there', () => {
  it('is the shelves on the store front, and nothing of them where something was searched for', () => {
    expect(preloadPaths('/', '?locale=zh')).toEqual(['/api/session', '/api/categories', '/api/apps/shelves']);
    expect(preloadPaths('/', '?locale=zh&keyword=a')).toEqual(['/api/session', '/api/categories']);
    expect(preloadPaths('/search', '')).toEqual(['/api/session', '/api/categories']);
  });

  it('is the app on its page, below the mount prefix as well', () => {
    expect(preloadPaths('/apps/z8iZ1', '')).toEqual(['/api/session', '/api/apps/z8iZ1']);
    expect(preloadPaths('/payment/apps/z8iZ1/', '')).toEqual(['/api/session', '/api/apps/z8iZ1']);
    expect(preloadPaths('/apps/z8iZ1/1.0.0', '')).toEqual(['/api/session']);
  });

  it('is the session alone elsewhere', () => {
    expect(preloadPaths('/customer', '')).toEqual(['/api/session']);
    expect(preloadPaths('/payment', '')).toContain('/api/apps/shelves');
  });
});

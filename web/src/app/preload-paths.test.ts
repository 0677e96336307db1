import { describe, expect, it } from 'vitest';
import { preloadPaths } from './preload-paths';

describe('the API paths to preload', () => {
  it('include the shelves on the home page, but not with search parameters', () => {
    expect(preloadPaths('/', '?locale=zh')).toEqual(['/api/session', '/api/categories', '/api/apps/shelves']);
    expect(preloadPaths('/', '?locale=zh&keyword=a')).toEqual(['/api/session', '/api/categories']);
    expect(preloadPaths('/search', '')).toEqual(['/api/session', '/api/categories']);
  });

  it('include the app on its page, also below the mount prefix', () => {
    expect(preloadPaths('/apps/z8iZ1', '')).toEqual(['/api/session', '/api/apps/z8iZ1']);
    expect(preloadPaths('/payment/apps/z8iZ1/', '')).toEqual(['/api/session', '/api/apps/z8iZ1']);
    expect(preloadPaths('/apps/z8iZ1/1.0.0', '')).toEqual(['/api/session']);
  });

  it('are only the session on other pages', () => {
    expect(preloadPaths('/customer', '')).toEqual(['/api/session']);
    expect(preloadPaths('/payment', '')).toContain('/api/apps/shelves');
  });
});

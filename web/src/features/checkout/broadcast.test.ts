// @vitest-environment happy-dom
import { describe, expect, test } from 'vitest';
import { listenerOrigin } from './broadcast';

describe('the origin that receives messages', () => {
  test('is the origin parameter, else the embedding page, never any origin', () => {
    const query = (search: string) => new URLSearchParams(search);
    expect(listenerOrigin(query('origin=https://shop.example'), 'https://other.example/x')).toBe(
      'https://shop.example',
    );
    expect(listenerOrigin(query(''), 'https://shop.example/page?x')).toBe('https://shop.example');
    expect(listenerOrigin(query('origin=*'), 'https://shop.example/')).toBeNull();
    expect(listenerOrigin(query(''), '')).toBeNull();
  });
});

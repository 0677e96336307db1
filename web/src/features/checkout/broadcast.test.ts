import { describe, expect, test } from 'vitest';
import { listenerOrigin } from './broadcast';

describe('who hears the page', () => {
  test('is the origin named in the address, else the embedding page, never everybody', () => {
    const query = (text: string) => new URLSearchParams(text);
    expect(listenerOrigin(query('origin=https://shop.example'), 'https://other.example/x')).toBe(
      'https://shop.example',
    );
    expect(listenerOrigin(query(''), 'https://shop.example/page?x')).toBe('https://shop.example');
    expect(listenerOrigin(query('origin=*'), 'https://shop.example/')).toBeNull();
    expect(listenerOrigin(query(''), '')).toBeNull();
  });
});

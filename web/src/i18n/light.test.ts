import { describe, expect, it } from 'vitest';
import { textFor } from './light';

const catalogues = {
  en: { hello: 'Hello {name}', items_one: '{count} item', items_other: '{count} items', only: 'English' },
  zh: { hello: '你好，{name}', items_other: '{count} 件' },
};

describe('a translated text', () => {
  it('has its placeholders filled', () => {
    expect(textFor(catalogues, 'en', 'hello', { name: 'Mei' })).toBe('Hello Mei');
    expect(textFor(catalogues, 'zh', 'hello', { name: '小梅' })).toBe('你好，小梅');
  });

  it('follows the plural rules of its language', () => {
    expect(textFor(catalogues, 'en', 'items', { count: 1 })).toBe('1 item');
    expect(textFor(catalogues, 'en', 'items', { count: 2 })).toBe('2 items');
    expect(textFor(catalogues, 'zh', 'items', { count: 1 })).toBe('1 件');
  });

  it('falls back to English, then to its key', () => {
    expect(textFor(catalogues, 'zh', 'only')).toBe('English');
    expect(textFor(catalogues, 'zh', 'nowhere')).toBe('nowhere');
  });
});

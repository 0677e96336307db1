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

  it('groups numbers, but not texts of digits', () => {
    expect(textFor(catalogues, 'en', 'items', { count: 1234 })).toBe('1,234 items');
    expect(textFor(catalogues, 'zh', 'items', { count: 1234 })).toBe('1,234 件');
    expect(textFor(catalogues, 'en', 'hello', { name: '2026' })).toBe('Hello 2026');
  });

  it('falls back to English, then to its key', () => {
    expect(textFor(catalogues, 'zh', 'only')).toBe('English');
    expect(textFor(catalogues, 'zh', 'nowhere')).toBe('nowhere');
  });
});

describe('the spaces around a placeholder', () => {
  const texts = {
    en: { cancel: 'Cancel {name}', ends: 'Ends on {date}', both: '{a} {b}' },
    zh: { cancel: '取消 {name} 订阅', ends: '将于 {date} 结束', both: '{a} {b}' },
  };

  it('are dropped between Chinese words, dates and brackets', () => {
    expect(textFor(texts, 'zh', 'cancel', { name: '开单台云端版' })).toBe('取消开单台云端版订阅');
    expect(textFor(texts, 'zh', 'cancel', { name: '开单台（云端）' })).toBe('取消开单台（云端）订阅');
    expect(textFor(texts, 'zh', 'ends', { date: '2027年1月1日' })).toBe('将于 2027年1月1日结束');
    expect(textFor(texts, 'zh', 'both', { a: '灯笼', b: '主题' })).toBe('灯笼主题');
  });

  it('stay beside Latin names and numbers, inside names, and in English', () => {
    expect(textFor(texts, 'zh', 'cancel', { name: 'Lantern' })).toBe('取消 Lantern 订阅');
    expect(textFor(texts, 'zh', 'cancel', { name: '灯笼 2' })).toBe('取消灯笼 2 订阅');
    expect(textFor(texts, 'zh', 'cancel', { name: '张 三' })).toBe('取消张 三订阅');
    expect(textFor(texts, 'en', 'cancel', { name: '灯笼' })).toBe('Cancel 灯笼');
  });
});

import { expect, it } from 'vitest';
import { visibleText } from './visible-text';

it('writes out characters that hide or reorder text', () => {
  expect(visibleText('run \u202egnp.exe\u202c')).toBe('run [U+202E]gnp.exe[U+202C]');
  expect(visibleText('a\u200bb\u0000')).toBe('a[U+200B]b[U+0000]');
});

it('keeps other text as it is', () => {
  for (const text of ['\tindented', '中文，标点', 'naïve – 🎉', '']) expect(visibleText(text)).toBe(text);
});

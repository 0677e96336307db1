// @vitest-environment happy-dom
import { expect, it } from 'vitest';
import { categoryName, hasNameCharacters, isShortEnough } from './categories';

it('keeps one space between the words of a name', () => {
  expect(categoryName('  Web \u3000Development 2 ')).toBe('Web Development 2');
  expect(categoryName(undefined)).toBe('');
});

it('counts characters, not bytes or code units', () => {
  expect(isShortEnough('图'.repeat(40))).toBe(true);
  expect(isShortEnough('𠮷'.repeat(40))).toBe(true);
  expect(isShortEnough('a'.repeat(41))).toBe(false);
  expect(isShortEnough(` ${'a'.repeat(40)} `)).toBe(true);
});

it('allows letters and digits of any script, and spaces', () => {
  for (const name of ['Tools 2', '工具', 'Café', '', 'Ελλάδα'])
    expect([name, hasNameCharacters(name)]).toEqual([name, true]);
  for (const name of ['Search & tools', '工具、', '<b>', 'a-b', 'a_b', '🙂'])
    expect([name, hasNameCharacters(name)]).toEqual([name, false]);
});

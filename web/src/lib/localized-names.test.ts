import { expect, it } from 'vitest';
import { localizeNames } from './localized-names';

const names: Record<string, string> = { Atlas: '图集', Quill: '羽笔', 'Atlas + 2': '图集加二' };

it.each([
  ['Atlas', '图集'],
  ['Quill + 12', '羽笔 + 12'],
  ['Atlas + 2', '图集加二'],
  ['Atlas, Quill', '图集、羽笔'],
  ['Atlas + more', 'Atlas + more'],
  ['Atlas + 2 more', 'Atlas + 2 more'],
  ['Atlas, Slate', 'Atlas, Slate'],
  ['Slate + 1', 'Slate + 1'],
  ['Subscription cycle', 'Subscription cycle'],
])('%s is called %s', (stored, expected) => {
  expect(localizeNames(stored, (name) => names[name])).toBe(expected);
});

import { act, render, screen } from '@testing-library/react';
import type { ReactElement } from 'react';
import { afterEach, describe, expect, it } from 'vitest';
import { setLocale } from '@/lib/locale';
import { comparison, free, oneTime } from '../../../e2e/fixtures/selling';
import { ComparedFacts } from './compared-facts';
import { ComparedFiles } from './compared-files';
import { ComparedTexts } from './compared-texts';
import { Terms } from './terms';

afterEach(() => act(() => setLocale('en')));

const textOf = (element: ReactElement) => render(element).container.textContent ?? '';

describe.each([
  ['en', 'Free', '20 SKT, once', '19.5% The store', '60% Mei Lin', '20.5% Beneficiary'],
  ['zh', '免费', '20 SKT，一次性', '19.5% 商店', '60% Mei Lin', '20.5% 受益人'],
] as const)('the terms of a sale, in %s', (language, isFree, price, store, named, unnamed) => {
  it('name the price and each part of it', () => {
    setLocale(language);
    expect(textOf(<Terms terms={free} />)).toBe(isFree);
    const text = textOf(<Terms terms={oneTime('20')} />);
    for (const part of [price, store, named, unnamed]) expect(text).toContain(part);
  });
});

describe.each([
  [
    'en',
    [
      'Permission: camera',
      'Permission: files',
      'Script: preInstall',
      '2.0.0, optional',
      'License',
      'Docker imageNoYes',
    ],
  ],
  ['zh', ['权限：camera', '权限：files', '脚本：preInstall', '2.0.0，可选', '许可证', 'Docker 镜像否是']],
] as const)('the facts that differ, in %s', (language, expected) => {
  it('are named with what they were and are', () => {
    setLocale(language);
    const text = textOf(<ComparedFacts comparison={comparison} />);
    for (const part of expected) expect(text).toContain(part);
    expect(text).not.toContain('compare.');
  });
});

it('shows lines with their numbers and signs, and says that a text was cut', () => {
  render(<ComparedTexts texts={comparison.texts} />);
  const rows = screen.getAllByRole('row').map((row) => row.textContent);
  expect(rows).toEqual([
    'From line 3 (before), line 3 (after)',
    '3Notes on maps.',
    '4-RemovedWorks offline.',
    '4+AddedWorks offline and [U+202E]online.',
  ]);
  expect(screen.getByText('Only the beginning of this text is compared.')).toBeTruthy();
  // A text without a difference is not shown.
  expect(screen.queryByText('Description')).toBeNull();
});

it('says how many files differ when not all are named', () => {
  const files = { count: 900, list: [{ path: 'a.js', before: 1, after: 2 }], cut: true };
  expect(textOf(<ComparedFiles files={files} />)).toContain(
    '900 files differ. The first 1 are listed. The bundle has more files than are compared.',
  );
  expect(textOf(<ComparedFiles files={null} />)).toBe('The files are listed when the checks have run.');
  expect(textOf(<ComparedFiles files={{ count: 0, list: [], cut: false }} />)).toBe('No files differ.');
});

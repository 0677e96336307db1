import { afterEach, expect, it, vi } from 'vitest';
import { copyText } from './clipboard';

const without = () => Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });
let copied = '';

afterEach(() => {
  vi.restoreAllMocks();
  Reflect.deleteProperty(navigator, 'clipboard');
  copied = '';
});

it('copies by the clipboard where there is one', async () => {
  const writeText = vi.fn(async () => undefined);
  Object.defineProperty(navigator, 'clipboard', { value: { writeText }, configurable: true });
  expect(await copyText('abt://1')).toBe(true);
  expect(writeText).toHaveBeenCalledWith('abt://1');
});

it('copies a selection where a page on plain http has no clipboard, and leaves nothing behind', async () => {
  without();
  document.execCommand = () => {
    copied = document.querySelector('textarea')?.value ?? '';
    return true;
  };
  expect(await copyText('abt://2')).toBe(true);
  expect(copied).toBe('abt://2');
  expect(document.querySelector('textarea')).toBeNull();
});

it('says when nothing could be copied', async () => {
  without();
  document.execCommand = () => false;
  expect(await copyText('abt://3')).toBe(false);
  document.execCommand = () => {
    throw new Error('not allowed');
  };
  expect(await copyText('abt://3')).toBe(false);
});

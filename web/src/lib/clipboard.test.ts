// @vitest-environment happy-dom
import { afterEach, expect, it, vi } from 'vitest';
import { copyText } from './clipboard';

const removeClipboard = () => Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });
let copied = '';

afterEach(() => {
  vi.restoreAllMocks();
  Reflect.deleteProperty(navigator, 'clipboard');
  copied = '';
});

it('uses the clipboard API if available', async () => {
  const writeText = vi.fn(async () => undefined);
  Object.defineProperty(navigator, 'clipboard', { value: { writeText }, configurable: true });
  expect(await copyText('abt://1')).toBe(true);
  expect(writeText).toHaveBeenCalledWith('abt://1');
});

it('copies a temporary selection on plain http, where there is no clipboard API', async () => {
  removeClipboard();
  document.execCommand = () => {
    copied = document.querySelector('textarea')?.value ?? '';
    return true;
  };
  expect(await copyText('abt://2')).toBe(true);
  expect(copied).toBe('abt://2');
  expect(document.querySelector('textarea')).toBeNull();
});

it('returns false if copying failed', async () => {
  removeClipboard();
  document.execCommand = () => false;
  expect(await copyText('abt://3')).toBe(false);
  document.execCommand = () => {
    throw new Error('not allowed');
  };
  expect(await copyText('abt://3')).toBe(false);
});

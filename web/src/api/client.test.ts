import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setLivemode } from '@/lib/livemode';
import { setLocale } from '@/lib/locale';
import { api, callAddress, mountPrefix } from './client';
import { ApiError } from './error';

const answers = vi.fn<(...args: Parameters<typeof fetch>) => Promise<Response>>();

beforeEach(() => {
  vi.stubGlobal('fetch', answers);
  setLivemode(false);
  setLocale('en');
});
afterEach(() => {
  vi.unstubAllGlobals();
  answers.mockReset();
});

describe('a call', () => {
  it('says language and mode, and leaves empty parameters out', () => {
    setLocale('zh');
    expect(callAddress('/api/apps', { keyword: '', page: 2, category: undefined })).toBe(
      '/api/apps?page=2&locale=zh&livemode=false',
    );
  });

  it('goes below the mount prefix when the page came from there', () => {
    expect(mountPrefix('/payment/checkout/pay/cs_1')).toBe('/payment');
    expect(mountPrefix('/payments')).toBe('');
  });

  it('carries an idempotency key when it writes, another one each time', async () => {
    answers.mockImplementation(async () => new Response('{}'));
    await api.put('/api/customers/me', { name: 'A' });
    await api.put('/api/customers/me', { name: 'A' });
    const keys = answers.mock.calls.map(([, init]) => new Headers(init?.headers).get('Idempotency-Key'));
    expect(keys[0]).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(keys[0]).not.toBe(keys[1]);
  });

  it('throws what the server refused', async () => {
    answers.mockResolvedValue(new Response('{"error":"Exceed inventory","code":"X"}', { status: 400 }));
    const refusal = await api.get('/api/settings').catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ApiError);
    expect(refusal).toMatchObject({ status: 400, code: 'X' });
  });
});

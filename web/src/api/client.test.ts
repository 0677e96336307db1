// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setLivemode } from '@/lib/livemode';
import { setLocale } from '@/lib/locale';
import { api, apiUrl, mountPrefix } from './client';
import { ApiError } from './error';

const fetchMock = vi.fn<(...args: Parameters<typeof fetch>) => Promise<Response>>();

beforeEach(() => {
  vi.stubGlobal('fetch', fetchMock);
  setLivemode(false);
  setLocale('en');
});
afterEach(() => {
  vi.unstubAllGlobals();
  fetchMock.mockReset();
});

describe('an API call', () => {
  it('sends locale and livemode, and omits empty parameters', () => {
    setLocale('zh');
    expect(apiUrl('/api/apps', { keyword: '', page: 2, category: undefined })).toBe(
      '/api/apps?page=2&locale=zh&livemode=false',
    );
  });

  it('uses the mount prefix of the page', () => {
    expect(mountPrefix('/payment/checkout/pay/cs_1')).toBe('/payment');
    expect(mountPrefix('/payments')).toBe('');
  });

  it('sends a new idempotency key with each write', async () => {
    fetchMock.mockImplementation(async () => new Response('{}'));
    await api.put('/api/customers/me', { name: 'A' });
    await api.put('/api/customers/me', { name: 'A' });
    const keys = fetchMock.mock.calls.map(([, init]) => new Headers(init?.headers).get('Idempotency-Key'));
    expect(keys[0]).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(keys[0]).not.toBe(keys[1]);
  });

  it('sends a file as it is, with its own type', async () => {
    fetchMock.mockImplementation(async () => new Response('{}'));
    const typed = new File(['content'], 'me.png', { type: 'image/png' });
    const untyped = new File(['content'], 'me');
    await api.put('/api/session/picture', typed);
    await api.put('/api/session/picture', untyped);
    await api.put('/api/customers/me', { name: 'A' });
    const sent = fetchMock.mock.calls.map(([, init]) => [new Headers(init?.headers).get('Content-Type'), init?.body]);
    expect(sent).toEqual([
      ['image/png', typed],
      ['application/octet-stream', untyped],
      ['application/json', '{"name":"A"}'],
    ]);
  });

  it('throws an ApiError for an error response', async () => {
    fetchMock.mockResolvedValue(new Response('{"error":"Exceed inventory","code":"X"}', { status: 400 }));
    const error = await api.get('/api/settings').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 400, code: 'X' });
  });
});

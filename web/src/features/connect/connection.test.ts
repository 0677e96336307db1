// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApiError } from '@/api/error';
import { authUrl, type ConnectCalls, type ConnectState, connect, type StatusResponse } from './connection';

const link = 'https://abtwallet.io/i/?action=requestAuth&url=http%253A%252F%252F127.0.0.1%252Fauth%253F_t_%253D96f5';
const status = vi.fn<(token: string) => Promise<StatusResponse>>();
const timeout = vi.fn(async () => ({}));
const calls: ConnectCalls = { token: async () => ({ token: 't1', url: link }), status, timeout };
let hidden = false;
let states: ConnectState[] = [];
const names = () => states.map((state) => state.name);
const startConnection = async () => {
  const connection = connect(calls, (state) => states.push(state));
  await vi.advanceTimersByTimeAsync(0);
  return connection;
};

beforeEach(() => {
  vi.useFakeTimers();
  states = [];
  hidden = false;
  vi.spyOn(document, 'hidden', 'get').mockImplementation(() => hidden);
  status.mockReset().mockResolvedValue({ status: 'created' });
  timeout.mockClear();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('a connection', () => {
  test('reads the auth URL from the doubly encoded link', () => {
    expect(authUrl(link)).toBe('http://127.0.0.1/auth?_t_=96f5');
  });

  test('polls every two seconds until the wallet has finished', async () => {
    status
      .mockResolvedValueOnce({ status: 'created' })
      .mockResolvedValueOnce({ status: 'scanned', mfaCode: 42 })
      .mockResolvedValueOnce({ status: 'succeed', did: 'z1' });
    await startConnection();
    await vi.advanceTimersByTimeAsync(1999);
    expect(status).toHaveBeenCalledTimes(0);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(status).toHaveBeenCalledTimes(3);
    expect(names()).toEqual(['loading', 'created', 'created', 'scanned', 'succeed']);
    expect(states.at(-1)).toEqual({ name: 'succeed', did: 'z1' });
  });

  test('does not poll while the page is hidden, and polls at once when it is visible again', async () => {
    await startConnection();
    hidden = true;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(status).not.toHaveBeenCalled();
    hidden = false;
    document.dispatchEvent(new Event('visibilitychange'));
    expect(status).toHaveBeenCalledTimes(1);
  });

  test('releases the token after 300 seconds without a scan', async () => {
    await startConnection();
    await vi.advanceTimersByTimeAsync(299_000);
    expect(names()).not.toContain('timeout');
    await vi.advanceTimersByTimeAsync(3000);
    expect(names().at(-1)).toBe('timeout');
    expect(timeout).toHaveBeenCalledExactlyOnceWith('t1');
  });

  test('does not time out after a scan, and keeps the token when closed', async () => {
    status.mockResolvedValue({ status: 'scanned' });
    const connection = await startConnection();
    await vi.advanceTimersByTimeAsync(400_000);
    expect(names().at(-1)).toBe('scanned');
    connection.stop();
    expect(timeout).not.toHaveBeenCalled();
  });

  test('releases an unused token when closed', async () => {
    const connection = await startConnection();
    connection.stop();
    expect(timeout).toHaveBeenCalledExactlyOnceWith('t1');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(status).not.toHaveBeenCalled();
  });

  test.each([
    [403, 'forbidden'],
    [400, 'timeout'],
  ])('a status request that fails with %i means %s', async (code, name) => {
    status.mockRejectedValueOnce(new ApiError('no', code, { error: 'no' }));
    await startConnection();
    await vi.advanceTimersByTimeAsync(2000);
    expect(names().at(-1)).toBe(name);
  });

  test('a failed status request is retried', async () => {
    status.mockRejectedValueOnce(new TypeError('network')).mockResolvedValueOnce({ status: 'busy' });
    await startConnection();
    await vi.advanceTimersByTimeAsync(4000);
    expect(names().at(-1)).toBe('busy');
  });

  test('a rejected token request shows the server’s message', async () => {
    connect({ ...calls, token: () => Promise.reject(new ApiError('M', 400, { error: 'Session is paid' })) }, (it) =>
      states.push(it),
    );
    await vi.advanceTimersByTimeAsync(0);
    expect(states.at(-1)).toMatchObject({ name: 'error', problem: { error: 'Session is paid' } });
  });
});

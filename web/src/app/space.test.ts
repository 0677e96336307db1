// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setLivemode } from '@/lib/livemode';
import { syncToSpace } from './space';

const fetchMock = vi.fn<(...args: Parameters<typeof fetch>) => Promise<Response>>();
const didSpace = { did: 'zSpace', endpoint: 'https://space.example' };
const answer = (success: boolean) =>
  fetchMock.mockImplementation(async () => new Response(JSON.stringify({ success })));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.stubGlobal('fetch', fetchMock);
  setLivemode(true);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  fetchMock.mockReset();
  localStorage.clear();
});

describe('the copy to the space of a user', () => {
  it('is not asked for without a space', async () => {
    await syncToSpace({ did: 'z1' });
    expect(fetchMock).not.toHaveBeenCalled();
  });

  it('is asked for once an hour for each user', async () => {
    answer(true);
    await syncToSpace({ did: 'z1', didSpace });
    await syncToSpace({ did: 'z1', didSpace });
    expect(fetchMock).toHaveBeenCalledOnce();
    await syncToSpace({ did: 'z2', didSpace });
    expect(fetchMock).toHaveBeenCalledTimes(2);
    vi.setSystemTime(Date.now() + 3_599_999);
    await syncToSpace({ did: 'z1', didSpace });
    expect(fetchMock).toHaveBeenCalledTimes(2);
    vi.setSystemTime(Date.now() + 1);
    await syncToSpace({ did: 'z1', didSpace });
    expect(fetchMock).toHaveBeenCalledTimes(3);
  });

  it('is asked for again after it has not succeeded', async () => {
    answer(false);
    await syncToSpace({ did: 'z1', didSpace });
    fetchMock.mockRejectedValue(new TypeError('offline'));
    await syncToSpace({ did: 'z1', didSpace });
    answer(true);
    await syncToSpace({ did: 'z1', didSpace });
    await syncToSpace({ did: 'z1', didSpace });
    expect(fetchMock).toHaveBeenCalledTimes(3);
  });
});

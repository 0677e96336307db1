import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HEARTBEAT_MS, listenToRelay, type RelayIds } from './relay';

const TOPIC = 'relay:z1:events';
const event = (id: string) => JSON.stringify([null, null, TOPIC, 'invoice.paid', { status: 'ok', response: { id } }]);

/** A socket that does what the test says. */
class Socket {
  static all: Socket[] = [];
  static get last() {
    return Socket.all[Socket.all.length - 1] as Socket;
  }
  onopen: () => void = () => undefined;
  onmessage: (message: { data: string }) => void = () => undefined;
  onclose: () => void = () => undefined;
  sent: unknown[][] = [];
  closed = false;
  constructor(readonly address: string) {
    Socket.all.push(this);
  }
  send(text: string) {
    this.sent.push(JSON.parse(text));
  }
  close() {
    this.closed = true;
  }
  join() {
    this.onopen();
    this.onmessage({ data: JSON.stringify(['1', '1', TOPIC, 'phx_reply', { status: 'ok', response: {} }]) });
  }
}

/** The store's side of the long poll: `lines` of frames, and the poll that waits 5 s for more. */
function pollingStore() {
  const store = {
    down: false,
    token: 't1',
    frames: [] as string[],
    polls: 0,
    pushed: [] as string[],
    aborted: 0,
    wake: () => undefined as undefined,
  };
  const body = (value: unknown) => ({ json: async () => value }) as Response;
  vi.stubGlobal('fetch', async (address: string, { method, body: sent, signal }: RequestInit) => {
    if (store.down) throw new TypeError('Failed to fetch');
    const token = new URL(address, 'http://store.example').searchParams.get('token');
    if (method === 'POST') {
      store.pushed.push(String(sent));
      const [joinRef, ref, topic] = JSON.parse(String(sent));
      store.frames.push(JSON.stringify([joinRef, ref, topic, 'phx_reply', { status: 'ok', response: {} }]));
      store.wake();
      return body({ status: 200 });
    }
    store.polls++;
    if (token !== store.token) return body({ status: 410, token: store.token, messages: [] });
    if (store.frames.length === 0) {
      let waits = true;
      await new Promise<void>((resolve, reject) => {
        store.wake = () => void resolve();
        setTimeout(resolve, 5000);
        signal?.addEventListener('abort', () => {
          if (waits) store.aborted++;
          reject(new DOMException('aborted', 'AbortError'));
        });
      });
      waits = false;
    }
    if (token !== store.token) return body({ status: 410, token: store.token, messages: [] });
    const messages = store.frames.splice(0);
    return body({ status: messages.length ? 200 : 204, token, messages });
  });
  return store;
}

let heard: RelayIds[];
let ups: boolean[];
let stop: () => void;
const listen = () => {
  stop = listenToRelay('z1', { onEvent: (_, ids) => heard.push(ids), onUp: (up) => ups.push(up) });
};
const pass = (ms = 0) => vi.advanceTimersByTimeAsync(ms);
/** Two sockets that never open. */
const blockSockets = async () => {
  Socket.last.onclose();
  await pass(1000);
  Socket.last.onclose();
  await pass();
};

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', Socket);
  Socket.all = [];
  heard = [];
  ups = [];
});
afterEach(() => {
  stop();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe('a socket', () => {
  it('joins the store’s channel, beats, and hears events by their ids', async () => {
    const store = pollingStore();
    listen();
    expect(Socket.last.address).toMatch(/^ws:\/\/.*\/\.well-known\/service\/relay\/websocket\?vsn=2\.0\.0$/);
    Socket.last.join();
    expect(Socket.last.sent).toEqual([['1', '1', TOPIC, 'phx_join', {}]]);
    expect(ups).toEqual([true]);
    Socket.last.onmessage({ data: event('in_1') });
    Socket.last.onmessage({ data: 'no frame' });
    expect(heard).toEqual([{ id: 'in_1' }]);
    await pass(HEARTBEAT_MS);
    expect(Socket.last.sent[1]).toEqual([null, '2', 'phoenix', 'heartbeat', {}]);
    expect(store.polls).toBe(0);
  });

  it('is opened again when it is lost after a good life, without a poll', async () => {
    const store = pollingStore();
    listen();
    for (let life = 1; life <= 3; life++) {
      Socket.last.join();
      await pass(30_000);
      Socket.last.onclose();
      await pass(1000);
      expect(Socket.all).toHaveLength(life + 1);
    }
    expect(store.polls).toBe(0);
    expect(ups).toEqual([true, false, true, false, true, false]);
  });
});

describe('the long poll', () => {
  it('carries the channel where a socket cannot be opened', async () => {
    const store = pollingStore();
    listen();
    await blockSockets();
    expect(store.pushed).toEqual([JSON.stringify(['1', '1', TOPIC, 'phx_join', {}])]);
    expect(ups[ups.length - 1]).toBe(true);
    store.frames.push(event('in_1'), event('in_2'));
    store.wake();
    await pass();
    expect(heard).toEqual([{ id: 'in_1' }, { id: 'in_2' }]);
  });

  it('carries it where a socket is never answered', async () => {
    const store = pollingStore();
    listen();
    await pass(5000 + 1000 + 5000);
    expect(Socket.all.map((socket) => socket.closed)).toEqual([true, true]);
    expect(store.pushed).toHaveLength(1);
  });

  it('carries it where sockets break soon after they were joined', async () => {
    const store = pollingStore();
    listen();
    Socket.last.join();
    Socket.last.onclose();
    await pass(1000);
    Socket.last.join();
    Socket.last.onclose();
    await pass();
    expect(store.pushed).toHaveLength(1);
  });

  it('carries it where a browser may not open sockets at all', async () => {
    const store = pollingStore();
    vi.stubGlobal('WebSocket', function forbidden() {
      throw new DOMException('insecure', 'SecurityError');
    });
    listen();
    await pass(1000);
    expect(store.pushed).toHaveLength(1);
  });

  it('goes on until a socket holds again', async () => {
    const store = pollingStore();
    listen();
    await blockSockets();
    await pass(60_000);
    expect(Socket.all).toHaveLength(3);
    expect(store.aborted).toBe(0);
    const returned = Socket.last;
    returned.join();
    await pass();
    expect(store.aborted).toBe(1);
    const polls = store.polls;
    await pass(20_000);
    expect(store.polls).toBe(polls);
    expect(ups[ups.length - 1]).toBe(true);
    returned.onmessage({ data: event('in_9') });
    expect(heard).toEqual([{ id: 'in_9' }]);
  });

  it('joins anew when its line is gone', async () => {
    const store = pollingStore();
    listen();
    await blockSockets();
    store.token = 't2';
    store.wake();
    await pass(1000);
    expect(store.pushed).toHaveLength(2);
    store.frames.push(event('in_1'));
    store.wake();
    await pass();
    expect(heard).toEqual([{ id: 'in_1' }]);
  });

  it('is tried ever more slowly while the store is away', async () => {
    const store = pollingStore();
    store.down = true;
    listen();
    await blockSockets();
    await pass(3000);
    expect(ups.every((up) => !up)).toBe(true);
    store.down = false;
    await pass(4000);
    expect(ups[ups.length - 1]).toBe(true);
  });

  it('ends with the page', async () => {
    const store = pollingStore();
    listen();
    await blockSockets();
    stop();
    await pass(120_000);
    expect(store.aborted).toBe(1);
    expect(Socket.all).toHaveLength(2);
  });
});

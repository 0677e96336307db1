// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HEARTBEAT_MS, listenToRelay, type RelayIds } from './relay';

const TOPIC = 'relay:z1:events';
const event = (id: string) => JSON.stringify([null, null, TOPIC, 'invoice.paid', { status: 'ok', response: { id } }]);

/** A WebSocket that the test controls. */
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

/** The store's long-poll endpoint: returns the queued frames, or waits up to 5 s for one. */
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
      let isWaiting = true;
      await new Promise<void>((resolve, reject) => {
        store.wake = () => void resolve();
        setTimeout(resolve, 5000);
        signal?.addEventListener('abort', () => {
          if (isWaiting) store.aborted++;
          reject(new DOMException('aborted', 'AbortError'));
        });
      });
      isWaiting = false;
    }
    if (token !== store.token) return body({ status: 410, token: store.token, messages: [] });
    const messages = store.frames.splice(0);
    return body({ status: messages.length ? 200 : 204, token, messages });
  });
  return store;
}

let received: RelayIds[];
let upStates: boolean[];
let stop: () => void;
const listen = () => {
  stop = listenToRelay('z1', { onEvent: (_, ids) => received.push(ids), onUp: (up) => upStates.push(up) });
};
const advance = (ms = 0) => vi.advanceTimersByTimeAsync(ms);
/** Fails two connection attempts. */
const blockSockets = async () => {
  Socket.last.onclose();
  await advance(1000);
  Socket.last.onclose();
  await advance();
};

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', Socket);
  Socket.all = [];
  received = [];
  upStates = [];
});
afterEach(() => {
  stop();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe('a WebSocket', () => {
  it('joins the store’s channel, sends heartbeats, and passes on the ids of events', async () => {
    const store = pollingStore();
    listen();
    expect(Socket.last.address).toMatch(/^ws:\/\/.*\/\.well-known\/service\/relay\/websocket\?vsn=2\.0\.0$/);
    Socket.last.join();
    expect(Socket.last.sent).toEqual([['1', '1', TOPIC, 'phx_join', {}]]);
    expect(upStates).toEqual([true]);
    Socket.last.onmessage({ data: event('in_1') });
    Socket.last.onmessage({ data: 'no frame' });
    expect(received).toEqual([{ id: 'in_1' }]);
    await advance(HEARTBEAT_MS);
    expect(Socket.last.sent[1]).toEqual([null, '2', 'phoenix', 'heartbeat', {}]);
    expect(store.polls).toBe(0);
  });

  it('reconnects without polling when a stable connection is lost', async () => {
    const store = pollingStore();
    listen();
    for (let attempt = 1; attempt <= 3; attempt++) {
      Socket.last.join();
      await advance(30_000);
      Socket.last.onclose();
      await advance(1000);
      expect(Socket.all).toHaveLength(attempt + 1);
    }
    expect(store.polls).toBe(0);
    expect(upStates).toEqual([true, false, true, false, true, false]);
  });
});

describe('the long poll', () => {
  it('is used when a WebSocket cannot be opened', async () => {
    const store = pollingStore();
    listen();
    await blockSockets();
    expect(store.pushed).toEqual([JSON.stringify(['1', '1', TOPIC, 'phx_join', {}])]);
    expect(upStates[upStates.length - 1]).toBe(true);
    store.frames.push(event('in_1'), event('in_2'));
    store.wake();
    await advance();
    expect(received).toEqual([{ id: 'in_1' }, { id: 'in_2' }]);
  });

  it('is used when the WebSocket never connects', async () => {
    const store = pollingStore();
    listen();
    await advance(5000 + 1000 + 5000);
    expect(Socket.all.map((socket) => socket.closed)).toEqual([true, true]);
    expect(store.pushed).toHaveLength(1);
  });

  it('is used when WebSockets close soon after joining', async () => {
    const store = pollingStore();
    listen();
    Socket.last.join();
    Socket.last.onclose();
    await advance(1000);
    Socket.last.join();
    Socket.last.onclose();
    await advance();
    expect(store.pushed).toHaveLength(1);
  });

  it('is used when the browser forbids WebSockets', async () => {
    const store = pollingStore();
    vi.stubGlobal('WebSocket', function forbidden() {
      throw new DOMException('insecure', 'SecurityError');
    });
    listen();
    await advance(1000);
    expect(store.pushed).toHaveLength(1);
  });

  it('stops once a WebSocket joins again', async () => {
    const store = pollingStore();
    listen();
    await blockSockets();
    await advance(60_000);
    expect(Socket.all).toHaveLength(3);
    expect(store.aborted).toBe(0);
    const returned = Socket.last;
    returned.join();
    await advance();
    expect(store.aborted).toBe(1);
    const polls = store.polls;
    await advance(20_000);
    expect(store.polls).toBe(polls);
    expect(upStates[upStates.length - 1]).toBe(true);
    returned.onmessage({ data: event('in_9') });
    expect(received).toEqual([{ id: 'in_9' }]);
  });

  it('joins again when its session has expired', async () => {
    const store = pollingStore();
    listen();
    await blockSockets();
    store.token = 't2';
    store.wake();
    await advance(1000);
    expect(store.pushed).toHaveLength(2);
    store.frames.push(event('in_1'));
    store.wake();
    await advance();
    expect(received).toEqual([{ id: 'in_1' }]);
  });

  it('backs off while the store is unreachable', async () => {
    const store = pollingStore();
    store.down = true;
    listen();
    await blockSockets();
    await advance(3000);
    expect(upStates.every((up) => !up)).toBe(true);
    store.down = false;
    await advance(4000);
    expect(upStates[upStates.length - 1]).toBe(true);
  });

  it('stops when the listener is removed', async () => {
    const store = pollingStore();
    listen();
    await blockSockets();
    stop();
    await advance(120_000);
    expect(store.aborted).toBe(1);
    expect(Socket.all).toHaveLength(2);
  });
});

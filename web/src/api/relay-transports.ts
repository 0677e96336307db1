/** A WebSocket or long-poll connection. It does not reconnect, and calls `onLost` once. */
export interface Connection {
  send: (frame: string) => void;
  close: () => void;
}

export interface ConnectionEvents {
  onOpen: () => void;
  onFrame: (frame: string) => void;
  onLost: () => void;
}

export type Transport = (events: ConnectionEvents) => Connection;

const PATH = '/.well-known/service/relay';
/** The store responds to a poll within 5 s (SPEC.md 9). A slower poll counts as lost. */
const POLL_TIMEOUT_MS = 15_000;

export const socketTransport: Transport = ({ onOpen, onFrame, onLost }) => {
  const scheme = window.location.protocol === 'https:' ? 'wss' : 'ws';
  let closed = false;
  let socket: WebSocket;
  try {
    socket = new WebSocket(`${scheme}://${window.location.host}${PATH}/websocket?vsn=2.0.0`);
  } catch {
    // The browser may forbid WebSockets.
    queueMicrotask(() => closed || onLost());
    return {
      send: () => undefined,
      close: () => {
        closed = true;
      },
    };
  }
  socket.onopen = onOpen;
  socket.onmessage = (message) => onFrame(String(message.data));
  socket.onclose = () => {
    if (!closed) onLost();
    closed = true;
  };
  return {
    send: (frame) => socket.send(frame),
    close: () => {
      closed = true;
      socket.close();
    },
  };
};

/** The status is part of the body: 200 with frames, 204 without, 410 for a new or expired session. */
interface PollResponse {
  status: number;
  token?: string;
  messages?: string[];
}

export const pollTransport: Transport = ({ onOpen, onFrame, onLost }) => {
  const stop = new AbortController();
  let token = '';

  const call = async (method: 'GET' | 'POST', body?: string): Promise<PollResponse> => {
    const timeout = setTimeout(() => stop.abort(), POLL_TIMEOUT_MS);
    try {
      const url = `${PATH}/longpoll?vsn=2.0.0${token && `&token=${token}`}`;
      const response = await fetch(url, {
        method,
        body,
        signal: stop.signal,
        credentials: 'omit',
        cache: 'no-store',
      });
      return (await response.json()) as PollResponse;
    } finally {
      clearTimeout(timeout);
    }
  };

  let closed = false;
  const fail = () => {
    if (closed) return;
    closed = true;
    stop.abort();
    onLost();
  };

  const listen = async () => {
    while (!closed) {
      const { status, token: newToken, messages = [] } = await call('GET');
      if (closed) return;
      if (status === 410 && !token && newToken) {
        token = newToken;
        onOpen();
      } else if (status === 200 || status === 204) {
        for (const frame of messages) onFrame(frame);
      } else {
        throw new Error(`polled ${status}`);
      }
    }
  };
  listen().catch(fail);

  return {
    send: (frame) => {
      call('POST', frame).then(({ status }) => status === 200 || fail(), fail);
    },
    close: () => {
      closed = true;
      stop.abort();
    },
  };
};

/** What carries frames: a socket, or a call that waits. Neither opens itself again; `lost` is told once. */
export interface Carrier {
  send: (frame: string) => void;
  close: () => void;
}

export interface CarrierEvents {
  onOpen: () => void;
  onFrame: (frame: string) => void;
  onLost: () => void;
}

export type Transport = (events: CarrierEvents) => Carrier;

const PATH = '/.well-known/service/relay';
/** The store answers a poll after 5 s at the latest (SPEC.md 9); one that takes so long is lost. */
const POLL_PATIENCE_MS = 15_000;

export const socketTransport: Transport = ({ onOpen, onFrame, onLost }) => {
  const scheme = window.location.protocol === 'https:' ? 'wss' : 'ws';
  let closed = false;
  let socket: WebSocket;
  try {
    socket = new WebSocket(`${scheme}://${window.location.host}${PATH}/websocket?vsn=2.0.0`);
  } catch {
    // A browser that may not open one at all.
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

/** The status stands in the body: 200 with frames, 204 without, 410 for a line that is new, or gone. */
interface Polled {
  status: number;
  token?: string;
  messages?: string[];
}

export const pollTransport: Transport = ({ onOpen, onFrame, onLost }) => {
  const stop = new AbortController();
  let token = '';

  const call = async (method: 'GET' | 'POST', body?: string): Promise<Polled> => {
    const patience = setTimeout(() => stop.abort(), POLL_PATIENCE_MS);
    try {
      const address = `${PATH}/longpoll?vsn=2.0.0${token && `&token=${token}`}`;
      const answer = await fetch(address, {
        method,
        body,
        signal: stop.signal,
        credentials: 'omit',
        cache: 'no-store',
      });
      return (await answer.json()) as Polled;
    } finally {
      clearTimeout(patience);
    }
  };

  let closed = false;
  const lose = () => {
    if (closed) return;
    closed = true;
    stop.abort();
    onLost();
  };

  const listen = async () => {
    while (!closed) {
      const { status, token: own, messages = [] } = await call('GET');
      if (closed) return;
      if (status === 410 && !token && own) {
        token = own;
        onOpen();
      } else if (status === 200 || status === 204) {
        for (const frame of messages) onFrame(frame);
      } else {
        throw new Error(`polled ${status}`);
      }
    }
  };
  listen().catch(lose);

  return {
    send: (frame) => {
      call('POST', frame).then(({ status }) => status === 200 || lose(), lose);
    },
    close: () => {
      closed = true;
      stop.abort();
    },
  };
};

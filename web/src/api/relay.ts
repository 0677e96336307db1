/** Phoenix frames, version 2: `[join_ref, ref, topic, event, payload]`. */
type Frame = [string | null, string | null, string, string, unknown];

export const HEARTBEAT_MS = 30_000;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;

export interface RelayIds {
  id?: string;
  customer_id?: string;
  subscription_id?: string;
  currency_id?: string;
}

export interface RelayEvents {
  /** An event of the store's public channel: only its name and the ids it is about. */
  onEvent: (name: string, ids: RelayIds) => void;
  /** True once the channel is joined, false when the socket is lost. */
  onUp: (up: boolean) => void;
}

/** Listens to the store's channel until the answer is called. Lost sockets are opened again, ever more slowly. */
export function listenToRelay(appPid: string, { onEvent, onUp }: RelayEvents): () => void {
  const topic = `relay:${appPid}:events`;
  let socket: WebSocket | undefined;
  let heartbeat: ReturnType<typeof setInterval> | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let attempts = 0;
  let reference = 0;
  let closed = false;

  const send = (frame: Frame) => socket?.send(JSON.stringify(frame));
  const next = () => String(++reference);

  const receive = (text: string, joinRef: string) => {
    let frame: Frame;
    try {
      frame = JSON.parse(text) as Frame;
    } catch {
      return;
    }
    const [, ref, from, event, payload] = frame;
    if (from !== topic) return;
    if (event.startsWith('phx_reply') || event.startsWith('chan_reply')) {
      if (ref === joinRef) {
        attempts = 0;
        onUp(true);
      }
      return;
    }
    onEvent(event, (payload as { response?: RelayIds } | null)?.response ?? {});
  };

  const open = () => {
    const scheme = window.location.protocol === 'https:' ? 'wss' : 'ws';
    socket = new WebSocket(`${scheme}://${window.location.host}/.well-known/service/relay/websocket?vsn=2.0.0`);
    const joinRef = next();
    socket.onopen = () => {
      send([joinRef, joinRef, topic, 'phx_join', {}]);
      heartbeat = setInterval(() => send([null, next(), 'phoenix', 'heartbeat', {}]), HEARTBEAT_MS);
    };
    socket.onmessage = (message) => receive(String(message.data), joinRef);
    socket.onclose = () => {
      clearInterval(heartbeat);
      if (closed) return;
      onUp(false);
      retry = setTimeout(open, Math.min(FIRST_RETRY_MS * 2 ** attempts++, LONGEST_RETRY_MS));
    };
  };
  open();

  return () => {
    closed = true;
    clearTimeout(retry);
    clearInterval(heartbeat);
    socket?.close();
  };
}

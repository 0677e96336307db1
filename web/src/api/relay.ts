import { pollTransport, socketTransport, type Transport } from './relay-transports';

/** Phoenix frames, version 2: `[join_ref, ref, topic, event, payload]`. */
type Frame = [string | null, string | null, string, string, unknown];

export const HEARTBEAT_MS = 30_000;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;
/** A connection that has not joined the channel by then counts as failed. */
const JOIN_MS = 5000;
/** After this many short-lived WebSockets in a row, the page polls. */
const MAX_SHORT_LIVED_SOCKETS = 2;
/** A WebSocket that lasts this long is stable and resets the counter. */
const STABLE_MS = 30_000;
/** The first and the longest wait before a polling page tries a WebSocket again. */
const FIRST_SOCKET_RETRY_MS = 60_000;
const LONGEST_SOCKET_RETRY_MS = 600_000;

export interface RelayIds {
  id?: string;
  customer_id?: string;
  subscription_id?: string;
  currency_id?: string;
  /** The DID of an app, of an event about a review. */
  blockletId?: string;
}

export interface RelayEvents {
  /** An event of the store's public channel: its name and the ids of its objects. */
  onEvent: (name: string, ids: RelayIds) => void;
  /** True once the channel is joined, false when the connection is lost. */
  onUp: (up: boolean) => void;
}

interface LinkEvents {
  onEvent: RelayEvents['onEvent'];
  onJoined: () => void;
  onLost: () => void;
}

/** Joins the channel over one connection. Returns a function that leaves it without calling `onLost`. */
function join(transport: Transport, topic: string, withHeartbeat: boolean, { onEvent, onJoined, onLost }: LinkEvents) {
  let heartbeat: ReturnType<typeof setInterval> | undefined;
  let reference = 1;
  const send = (frame: Frame) => connection.send(JSON.stringify(frame));
  const cleanUp = () => {
    clearInterval(heartbeat);
    clearTimeout(joinTimeout);
  };
  const connection = transport({
    onOpen: () => {
      send(['1', '1', topic, 'phx_join', {}]);
      if (!withHeartbeat) return;
      heartbeat = setInterval(() => send([null, String(++reference), 'phoenix', 'heartbeat', {}]), HEARTBEAT_MS);
    },
    onFrame: (text) => {
      let frame: Frame;
      try {
        frame = JSON.parse(text) as Frame;
      } catch {
        return;
      }
      const [, ref, from, event, payload] = frame;
      if (from !== topic) return;
      if (event.startsWith('phx_reply') || event.startsWith('chan_reply')) {
        if (ref !== '1') return;
        clearTimeout(joinTimeout);
        onJoined();
        return;
      }
      onEvent(event, (payload as { response?: RelayIds } | null)?.response ?? {});
    },
    onLost: () => {
      cleanUp();
      onLost();
    },
  });
  const close = () => {
    cleanUp();
    connection.close();
  };
  const joinTimeout = setTimeout(() => {
    close();
    onLost();
  }, JOIN_MS);
  return close;
}

/** Exponential backoff: the `n`th wait is twice as long as the one before. */
const backoff = (first: number, n: number, longest: number) => Math.min(first * 2 ** n, longest);

/**
 * Listens to the store's channel until the returned function is called. It uses a WebSocket, and falls back to polling
 * while WebSockets cannot be opened or keep failing. Lost connections are retried with exponential backoff.
 */
export function listenToRelay(appPid: string, { onEvent, onUp }: RelayEvents): () => void {
  const topic = `relay:${appPid}:events`;
  const timers: Partial<Record<'socket' | 'stable' | 'poll', ReturnType<typeof setTimeout>>> = {};
  let leaveSocket: (() => void) | undefined;
  let leavePoll: (() => void) | undefined;
  let socketUp = false;
  let socketsLost = 0;
  let pollUp = false;
  let pollsLost = 0;

  const stopPolling = () => {
    clearTimeout(timers.poll);
    leavePoll?.();
    leavePoll = undefined;
    pollUp = false;
    pollsLost = 0;
  };

  const poll = () => {
    leavePoll = join(pollTransport, topic, false, {
      onEvent,
      onJoined: () => {
        pollUp = true;
        pollsLost = 0;
        onUp(true);
      },
      onLost: () => {
        pollUp = false;
        onUp(socketUp);
        timers.poll = setTimeout(poll, backoff(FIRST_RETRY_MS, pollsLost++, LONGEST_RETRY_MS));
      },
    });
  };

  const open = () => {
    leaveSocket = join(socketTransport, topic, true, {
      onEvent,
      onJoined: () => {
        socketUp = true;
        stopPolling();
        onUp(true);
        timers.stable = setTimeout(() => {
          socketsLost = 0;
        }, STABLE_MS);
      },
      onLost: () => {
        clearTimeout(timers.stable);
        socketUp = false;
        onUp(pollUp);
        const lost = socketsLost++;
        const socketRetries = socketsLost - MAX_SHORT_LIVED_SOCKETS;
        if (socketRetries < 0) {
          timers.socket = setTimeout(open, backoff(FIRST_RETRY_MS, lost, LONGEST_RETRY_MS));
          return;
        }
        if (!leavePoll) poll();
        timers.socket = setTimeout(open, backoff(FIRST_SOCKET_RETRY_MS, socketRetries, LONGEST_SOCKET_RETRY_MS));
      },
    });
  };
  open();

  return () => {
    for (const timer of Object.values(timers)) clearTimeout(timer);
    leaveSocket?.();
    leavePoll?.();
  };
}

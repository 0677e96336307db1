import { pollTransport, socketTransport, type Transport } from './relay-transports';

/** Phoenix frames, version 2: `[join_ref, ref, topic, event, payload]`. */
type Frame = [string | null, string | null, string, string, unknown];

export const HEARTBEAT_MS = 30_000;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;
/** A channel that is not joined by then is taken for blocked. */
const JOIN_MS = 5000;
/** So many sockets may be lost, one soon after the other, before the page polls. */
const SOCKETS_LOST = 2;
/** A socket that lived so long was a good one. */
const STEADY_MS = 30_000;
/** How long after that the polling page tries a socket again: at first, and at most. */
const FIRST_RETURN_MS = 60_000;
const LONGEST_RETURN_MS = 600_000;

export interface RelayIds {
  id?: string;
  customer_id?: string;
  subscription_id?: string;
  currency_id?: string;
}

export interface RelayEvents {
  /** An event of the store's public channel: only its name and the ids it is about. */
  onEvent: (name: string, ids: RelayIds) => void;
  /** True once the channel is joined, false when whatever carried it is lost. */
  onUp: (up: boolean) => void;
}

interface LinkEvents {
  onEvent: RelayEvents['onEvent'];
  onJoined: () => void;
  onLost: () => void;
}

/** Joins the channel over one carrier. The answer leaves it, without `onLost`. */
function join(transport: Transport, topic: string, beats: boolean, { onEvent, onJoined, onLost }: LinkEvents) {
  let heartbeat: ReturnType<typeof setInterval> | undefined;
  let reference = 1;
  const send = (frame: Frame) => carrier.send(JSON.stringify(frame));
  const end = () => {
    clearInterval(heartbeat);
    clearTimeout(patience);
  };
  const carrier = transport({
    onOpen: () => {
      send(['1', '1', topic, 'phx_join', {}]);
      if (!beats) return;
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
        clearTimeout(patience);
        onJoined();
        return;
      }
      onEvent(event, (payload as { response?: RelayIds } | null)?.response ?? {});
    },
    onLost: () => {
      end();
      onLost();
    },
  });
  const close = () => {
    end();
    carrier.close();
  };
  const patience = setTimeout(() => {
    close();
    onLost();
  }, JOIN_MS);
  return close;
}

/** How long the `n`th wait is when each is twice as long as the one before. */
const growing = (first: number, n: number, longest: number) => Math.min(first * 2 ** n, longest);

/**
 * Listens to the store's channel until the answer is called: over a socket, and where that cannot be opened or breaks again and
 * again, by polling, until a socket holds. What is lost is opened again, ever more slowly.
 */
export function listenToRelay(appPid: string, { onEvent, onUp }: RelayEvents): () => void {
  const topic = `relay:${appPid}:events`;
  const timers: Partial<Record<'socket' | 'steady' | 'poll', ReturnType<typeof setTimeout>>> = {};
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
        timers.poll = setTimeout(poll, growing(FIRST_RETRY_MS, pollsLost++, LONGEST_RETRY_MS));
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
        timers.steady = setTimeout(() => {
          socketsLost = 0;
        }, STEADY_MS);
      },
      onLost: () => {
        clearTimeout(timers.steady);
        socketUp = false;
        onUp(pollUp);
        const lost = socketsLost++;
        const returns = socketsLost - SOCKETS_LOST;
        if (returns < 0) {
          timers.socket = setTimeout(open, growing(FIRST_RETRY_MS, lost, LONGEST_RETRY_MS));
          return;
        }
        if (!leavePoll) poll();
        timers.socket = setTimeout(open, growing(FIRST_RETURN_MS, returns, LONGEST_RETURN_MS));
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

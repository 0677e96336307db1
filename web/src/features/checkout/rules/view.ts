import { locale } from '@/lib/locale';
import type { Checkout, CheckoutSession, PaymentError, PaymentIntent } from '../wire';

/** What the screen shows, decided from what the server says. */
export type View = 'expired' | 'empty' | 'completed' | 'form';

export function isComplete(session: CheckoutSession): boolean {
  return session.status === 'complete' && ['paid', 'no_payment_required'].includes(session.payment_status);
}

/**
 * `now`: unix seconds. A session that was paid stays paid however late it is looked at. The browser's clock ends only
 * what nobody is paying: the server keeps a session whose payment is on its way, and `isBusy` is a payment begun here.
 */
export function viewOf(checkout: Checkout, now: number, isBusy = false): View {
  const session = checkout.checkoutSession;
  if (isComplete(session)) return 'completed';
  const over = session.expires_at <= now && !isBusy && !inFlight(checkout);
  if (session.status === 'expired' || over) return 'expired';
  return session.line_items.length === 0 ? 'empty' : 'form';
}

/** A payment that needs the customer again and says why: polling on would not help. */
export function paymentError(intent: PaymentIntent | null | undefined): PaymentError | null {
  return intent?.status === 'requires_action' ? (intent.last_payment_error ?? null) : null;
}

/** Has a bank led back here with what may be a payment? What it added to the address is removed. */
export function returnedFromBank(): boolean {
  const address = new URL(window.location.href);
  const query = address.searchParams;
  const status = query.get('redirect_status');
  if (!status) return false;
  for (const name of [...query.keys()]) if (/^(redirect_status|(payment|setup)_intent)/.test(name)) query.delete(name);
  window.history.replaceState(window.history.state, '', address);
  return status !== 'failed';
}

/** Was the payment already under way when the page was opened? Then the buyer must not be asked again. */
export function inFlight({ checkoutSession, paymentIntent }: Checkout): boolean {
  return checkoutSession.status === 'open' && paymentIntent?.status === 'processing';
}

export type Mode = 'standalone' | 'inline' | 'standalone-minimal' | 'inline-minimal';

const MODES: Mode[] = ['standalone', 'inline', 'standalone-minimal', 'inline-minimal'];

export function modeOf(query: URLSearchParams): Mode {
  return MODES.find((mode) => mode === query.get('mode')) ?? 'standalone';
}

/** The id in `/checkout/pay/{id}`, under any mount prefix. */
export function idOf(path: string): { kind: 'link' | 'session'; id: string } | null {
  const id = /\/checkout\/pay\/([^/?#]+)\/?$/.exec(path)?.[1] ?? '';
  if (/^plink_\w+$/.test(id)) return { kind: 'link', id };
  return /^cs_\w+$/.test(id) ? { kind: 'session', id } : null;
}

/** `/payment` when the page is served below that prefix, else nothing. */
export function mountPrefix(path: string): string {
  return /^(.*)\/checkout\/pay\//.exec(path)?.[1] ?? '';
}

/** A page of the store, in the language that the address of this one asks for: that is kept nowhere else. `path` may have a query. */
export function pageAt(path: string): string {
  const { pathname, search } = window.location;
  const asked = new URLSearchParams(search).has('locale');
  return mountPrefix(pathname) + path + (asked ? `${path.includes('?') ? '&' : '?'}locale=${locale()}` : '');
}

/** Only addresses a link may lead to, whole: `javascript:` and the like are none, and a path alone could name another host. */
export function safeUrl(url: string | null | undefined, base: string): string | null {
  if (!url) return null;
  try {
    const parsed = new URL(url, base);
    return ['http:', 'https:'].includes(parsed.protocol) ? parsed.href : null;
  } catch {
    return null;
  }
}

import { locale } from '@/lib/locale';
import type { Checkout, CheckoutSession, PaymentError, PaymentIntent } from '../types';

/** The view of the page, derived from the session. */
export type View = 'expired' | 'empty' | 'completed' | 'form';

export function isComplete(session: CheckoutSession): boolean {
  return session.status === 'complete' && ['paid', 'no_payment_required'].includes(session.payment_status);
}

/**
 * `now`: Unix seconds. A paid session stays completed. The local clock expires only sessions without a running payment:
 * the server keeps a session while its payment is processing, and `isBusy` marks a payment started here.
 */
export function viewOf(checkout: Checkout, now: number, isBusy = false): View {
  const session = checkout.checkoutSession;
  if (isComplete(session)) return 'completed';
  const isOver = session.expires_at <= now && !isBusy && !inFlight(checkout);
  if (session.status === 'expired' || isOver) return 'expired';
  return session.line_items.length === 0 ? 'empty' : 'form';
}

/** The error of a payment that needs the customer again, so that polling would not help. */
export function paymentError(intent: PaymentIntent | null | undefined): PaymentError | null {
  return intent?.status === 'requires_action' ? (intent.last_payment_error ?? null) : null;
}

/** Whether a bank redirected back after a possible payment. Its query parameters are removed. */
export function returnedFromBank(): boolean {
  const url = new URL(window.location.href);
  const query = url.searchParams;
  const status = query.get('redirect_status');
  if (!status) return false;
  for (const name of [...query.keys()]) if (/^(redirect_status|(payment|setup)_intent)/.test(name)) query.delete(name);
  window.history.replaceState(window.history.state, '', url);
  return status !== 'failed';
}

/** Whether a payment was already processing when the page loaded; the buyer must not pay again. */
export function inFlight({ checkoutSession, paymentIntent }: Checkout): boolean {
  return checkoutSession.status === 'open' && paymentIntent?.status === 'processing';
}

export type Mode = 'standalone' | 'inline' | 'standalone-minimal' | 'inline-minimal';

const MODES: Mode[] = ['standalone', 'inline', 'standalone-minimal', 'inline-minimal'];

export function modeOf(query: URLSearchParams): Mode {
  return MODES.find((mode) => mode === query.get('mode')) ?? 'standalone';
}

/** The id in `/checkout/pay/{id}`, below any mount prefix. */
export function idOf(path: string): { kind: 'link' | 'session'; id: string } | null {
  const id = /\/checkout\/pay\/([^/?#]+)\/?$/.exec(path)?.[1] ?? '';
  if (/^plink_\w+$/.test(id)) return { kind: 'link', id };
  return /^cs_\w+$/.test(id) ? { kind: 'session', id } : null;
}

/** `/payment` if the page is served below that prefix, else empty. */
export function mountPrefix(path: string): string {
  return /^(.*)\/checkout\/pay\//.exec(path)?.[1] ?? '';
}

/**
 * The URL of a store page. It keeps the `locale` parameter of this page, which is stored nowhere else. `path` can have
 * a query.
 */
export function pageAt(path: string): string {
  const { pathname, search } = window.location;
  const hasLocale = new URLSearchParams(search).has('locale');
  return mountPrefix(pathname) + path + (hasLocale ? `${path.includes('?') ? '&' : '?'}locale=${locale()}` : '');
}

/**
 * Returns an absolute http(s) URL or null: `javascript:` is rejected, and a bare path could resolve to another host.
 */
export function safeUrl(url: string | null | undefined, base: string): string | null {
  if (!url) return null;
  try {
    const parsed = new URL(url, base);
    return ['http:', 'https:'].includes(parsed.protocol) ? parsed.href : null;
  } catch {
    return null;
  }
}

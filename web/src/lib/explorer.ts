import type { PaymentDetails, PaymentMethod } from '@/api/types';

export interface TransactionLink {
  /** The hash or provider id, as the network's own pages show it. */
  label: string;
  url: string;
}

const joinUrl = (host: string, path: string) => `${host.replace(/\/+$/, '')}${path}`;

/** The link to a transaction on an explorer; null without a transaction or explorer. */
export function transactionLink(
  method: Pick<PaymentMethod, 'type' | 'settings' | 'livemode'> | null | undefined,
  details: PaymentDetails | null | undefined,
): TransactionLink | null {
  if (!method || !details) return null;
  if (method.type === 'stripe') {
    const intent = details.stripe?.payment_intent_id;
    if (!intent) return null;
    const defaultDashboard = `https://dashboard.stripe.com${method.livemode ? '' : '/test'}`;
    return {
      label: intent,
      url: joinUrl(method.settings?.stripe?.dashboard || defaultDashboard, `/payments/${intent}`),
    };
  }
  if (method.type === 'arcblock') {
    const hash = details.arcblock?.tx_hash;
    const host = method.settings?.arcblock?.explorer_host;
    return hash && host ? { label: hash, url: joinUrl(host, `/txs/${hash}`) } : null;
  }
  if (method.type === 'ethereum' || method.type === 'base' || method.type === 'bitcoin') {
    const hash = details[method.type]?.tx_hash;
    const settings = method.settings as Record<string, { explorer_host?: string } | undefined> | undefined;
    const host = settings?.[method.type]?.explorer_host;
    if (!hash || !host) return null;
    return { label: method.type === 'bitcoin' ? hash : hash.toUpperCase(), url: joinUrl(host, `/tx/${hash}`) };
  }
  return null;
}

import type { PaymentDetails, PaymentMethod } from '@/api/types';

export interface TransactionLink {
  /** Hash or provider id, as it is written on the network's own pages. */
  label: string;
  url: string;
}

const joined = (host: string, path: string) => `${host.replace(/\/+$/, '')}${path}`;

/** Where a payment can be looked up outside of this store; null when nothing has been sent or no explorer is known. */
export function transactionLink(
  method: Pick<PaymentMethod, 'type' | 'settings' | 'livemode'> | null | undefined,
  details: PaymentDetails | null | undefined,
): TransactionLink | null {
  if (!method || !details) return null;
  if (method.type === 'stripe') {
    const intent = details.stripe?.payment_intent_id;
    if (!intent) return null;
    const standard = `https://dashboard.stripe.com${method.livemode ? '' : '/test'}`;
    return { label: intent, url: joined(method.settings?.stripe?.dashboard || standard, `/payments/${intent}`) };
  }
  if (method.type === 'arcblock') {
    const hash = details.arcblock?.tx_hash;
    const host = method.settings?.arcblock?.explorer_host;
    return hash && host ? { label: hash, url: joined(host, `/txs/${hash}`) } : null;
  }
  if (method.type === 'ethereum' || method.type === 'base' || method.type === 'bitcoin') {
    const hash = details[method.type]?.tx_hash;
    const settings = method.settings as Record<string, { explorer_host?: string } | undefined> | undefined;
    const host = settings?.[method.type]?.explorer_host;
    if (!hash || !host) return null;
    return { label: method.type === 'bitcoin' ? hash : hash.toUpperCase(), url: joined(host, `/tx/${hash}`) };
  }
  return null;
}

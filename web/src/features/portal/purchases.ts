import type { App, Entitlement } from '@/api/types';

/** One reason why a customer has an app. */
export interface Grant {
  id: string;
  acquiredAt: string;
  invoiceId: string | null;
  /** The subscription that includes the app; null for a one-time purchase. */
  subscriptionId: string | null;
  status: Entitlement['status'];
}

export interface PurchasedApp {
  app: App;
  grants: Grant[];
  /** Whether one of the grants still gives the app. */
  isDownloadable: boolean;
}

/** Each app once, with everything that grants it or did until a refund or a dispute, in the order of the list. */
export function purchasedApps(entitlements: Entitlement[]): PurchasedApp[] {
  const apps = new Map<string, PurchasedApp>();
  for (const { id, app, acquired_at, invoice_id, subscription_id, status } of entitlements) {
    const known = apps.get(app.did) ?? { app, grants: [], isDownloadable: false };
    const grant = {
      id,
      acquiredAt: acquired_at,
      invoiceId: invoice_id,
      subscriptionId: subscription_id ?? null,
      status,
    };
    const isKnown = grant.subscriptionId && known.grants.some((it) => it.subscriptionId === grant.subscriptionId);
    if (!isKnown) known.grants.push(grant);
    known.isDownloadable ||= status === 'active';
    apps.set(app.did, known);
  }
  return [...apps.values()];
}

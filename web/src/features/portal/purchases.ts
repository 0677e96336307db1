import type { App, Entitlement } from '@/api/types';

/** One reason why a customer has an app. */
export interface Grant {
  id: string;
  acquiredAt: string;
  invoiceId: string | null;
  /** The subscription that includes the app; null for a one-time purchase. */
  subscriptionId: string | null;
}

export interface PurchasedApp {
  app: App;
  grants: Grant[];
}

/** Each app once, with everything that grants it, in the order of the list. */
export function purchasedApps(entitlements: Entitlement[]): PurchasedApp[] {
  const apps = new Map<string, PurchasedApp>();
  for (const { id, app, acquired_at, invoice_id, subscription_id } of entitlements) {
    const known = apps.get(app.did) ?? { app, grants: [] };
    const grant = { id, acquiredAt: acquired_at, invoiceId: invoice_id, subscriptionId: subscription_id ?? null };
    const isKnown = grant.subscriptionId && known.grants.some((it) => it.subscriptionId === grant.subscriptionId);
    if (!isKnown) known.grants.push(grant);
    apps.set(app.did, known);
  }
  return [...apps.values()];
}

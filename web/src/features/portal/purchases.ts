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
  /** Whether one of the grants is active. */
  isDownloadable: boolean;
}

/** Each app once, with all of its grants, also those that a refund or a dispute ended, in the order of the list. */
export function purchasedApps(entitlements: Entitlement[]): PurchasedApp[] {
  const apps = new Map<string, PurchasedApp>();
  for (const { id, app, acquired_at, invoice_id, subscription_id, status } of entitlements) {
    const purchased = apps.get(app.did) ?? { app, grants: [], isDownloadable: false };
    const grant = {
      id,
      acquiredAt: acquired_at,
      invoiceId: invoice_id,
      subscriptionId: subscription_id ?? null,
      status,
    };
    const isListed =
      grant.subscriptionId && purchased.grants.some((each) => each.subscriptionId === grant.subscriptionId);
    if (!isListed) purchased.grants.push(grant);
    purchased.isDownloadable ||= status === 'active';
    apps.set(app.did, purchased);
  }
  return [...apps.values()];
}

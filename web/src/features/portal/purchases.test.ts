import { expect, it } from 'vitest';
import type { Entitlement } from '@/api/types';
import { purchasedApps } from './purchases';

const entitlement = (
  id: string,
  did: string,
  subscription_id: string | null = null,
  status: Entitlement['status'] = 'active',
) =>
  ({
    id,
    app: { did },
    acquired_at: '2026-11-20T00:00:00Z',
    checkout_session_id: null,
    invoice_id: `in_${id}`,
    subscription_id,
    status,
  }) as Entitlement;

it('lists each app once, with the purchases and subscriptions that grant it', () => {
  const apps = purchasedApps([
    entitlement('1', 'z1', 'sub_1'),
    entitlement('2', 'z2'),
    entitlement('3', 'z1'),
    entitlement('4', 'z1', 'sub_1'),
  ]);
  expect(apps.map(({ app, grants }) => [app.did, grants.map(({ id }) => id)])).toEqual([
    ['z1', ['1', '3']],
    ['z2', ['2']],
  ]);
  expect(apps[0]?.grants.map(({ subscriptionId }) => subscriptionId)).toEqual(['sub_1', null]);
});

it('can download an app while one of its grants is neither refunded nor disputed', () => {
  const apps = purchasedApps([
    entitlement('1', 'z1', null, 'revoked'),
    entitlement('2', 'z1'),
    entitlement('3', 'z2', null, 'revoked'),
    entitlement('4', 'z2', 'sub_1', 'suspended'),
  ]);
  expect(apps.map(({ isDownloadable }) => isDownloadable)).toEqual([true, false]);
  expect(apps[1]?.grants.map(({ status }) => status)).toEqual(['revoked', 'suspended']);
});

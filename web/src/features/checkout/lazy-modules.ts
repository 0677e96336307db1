import { isCustom } from '@/i18n/price';
import { lazyModule } from './lazy-module';
import { effectivePrice } from './rules/price';
import type { CheckoutSession } from './types';

/** Modules that most orders do not need at first. */
export const outcomeModule = lazyModule(() => import('./sections/outcome'));
export const frameModule = lazyModule(() => import('./frame'));
export const extrasModule = lazyModule(() => import('./extras'));

/** Whether the order has a custom amount or a cross-sell, without which it cannot be shown. */
export function needsExtras(session: CheckoutSession): boolean {
  return session.line_items.some(({ price }) => isCustom(price)) || hasCrossSell(session);
}

export const hasCrossSell = (session: CheckoutSession) =>
  session.cross_sell_behavior === 'required' ||
  session.line_items.some((item) => effectivePrice(item).product?.cross_sell || item.cross_sell);

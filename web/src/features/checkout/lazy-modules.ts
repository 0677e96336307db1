import { lazyModule } from './lazy-module';
import { isCustom, pricedAs } from './rules/price';
import type { CheckoutSession } from './wire';

/** What most orders never show comes later than the page. */
export const outcomeModule = lazyModule(() => import('./parts/outcome'));
export const frameModule = lazyModule(() => import('./frame'));
export const extrasModule = lazyModule(() => import('./extras'));

/** Does this order recur, let its amount be chosen, or offer something beside it? */
export function needsExtras(session: CheckoutSession): boolean {
  return session.mode !== 'payment' || session.line_items.some(({ price }) => isCustom(price)) || crossSells(session);
}

export const crossSells = (session: CheckoutSession) =>
  session.cross_sell_behavior === 'required' ||
  session.line_items.some((item) => pricedAs(item).product?.cross_sell || item.cross_sell);

import './extras.css';

/**
 * Components for recurring, custom-amount and cross-sell orders. Loaded on demand, so that a plain payment does not
 * wait for them.
 */
export { fetchCrossSell } from './calls';
export { CrossSell } from './cross-sell';
export { FastPay } from './fast-pay';
export { ItemExtras } from './item-extras';
export { OverdueDialog } from './overdue';
export { RequiredExtras } from './required-extras';
export { Totals } from './totals';

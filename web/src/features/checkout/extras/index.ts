import './extras.css';

/**
 * Components for custom amounts, upsells and cross-sells, and dialogs. Loaded on demand, so that most orders do not
 * wait for them.
 */
export { fetchCrossSell } from './calls';
export { CrossSell } from './cross-sell';
export { FastPay } from './fast-pay';
export { ItemExtras } from './item-extras';
export { OverdueDialog } from './overdue';
export { RequiredExtras } from './required-extras';

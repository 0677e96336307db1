import './extras.css';

/** What orders with more than a fixed price need: loaded with them, so that a plain payment does not wait for it. */
export { fetchCrossSell } from './calls';
export { CrossSell } from './cross-sell';
export { FastPay } from './fast-pay';
export { ItemExtras } from './item-extras';
export { Needed } from './needed';
export { OverdueDialog } from './overdue';
export { Totals } from './totals';

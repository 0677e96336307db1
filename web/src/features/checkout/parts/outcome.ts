/** What follows the press of the button: loaded while the order is sent. */
export { Completed } from './completed';
export { Paying, PayingTimeout } from './paying';

/** Components for the time after submit; loaded during submit. */
export { Completed } from './completed';
export { Paying, PayingTimeout } from './paying';

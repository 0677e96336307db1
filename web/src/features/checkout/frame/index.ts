import { tellHeight } from './height';

/** What the page needs inside another one only: loaded there, with the order. */
export { InTab } from './in-tab';
export { holdsLogin } from './login';

// The pages of the store refuse to be framed: what leaves this one leaves the frame.
const base = document.createElement('base');
base.target = '_blank';
document.head.append(base);

tellHeight();

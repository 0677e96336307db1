import { reportHeight } from './height';

export { canStoreSession } from './login';
/** Code that only an embedded checkout needs; loaded together with the order. */
export { OpenInTab } from './open-in-tab';

// Store pages refuse to be framed, so links open in a new tab.
const base = document.createElement('base');
base.target = '_blank';
document.head.append(base);

reportHeight();

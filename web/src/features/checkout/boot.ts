import { prefetch } from '@/api/client';
import { prefetchSession, prefetchStart } from './calls';
import { idOf } from './rules/view';

// Small, so that it runs while the rest is still on its way: the order is asked for now.
const target = idOf(window.location.pathname);
if (target?.kind === 'link') prefetchStart(target.id, new URLSearchParams(window.location.search));
else if (target) prefetchSession(target.id);
if (target) void prefetch('/api/session');

void import('./main');

import { prefetch } from '@/api/client';
import { prefetchSession, prefetchStart } from './calls';
import { idOf } from './rules/view';

// Kept small so that the first API requests start while the remaining scripts load.
const target = idOf(window.location.pathname);
if (target?.kind === 'link') prefetchStart(target.id, new URLSearchParams(window.location.search));
else if (target) prefetchSession(target.id);
if (target) void prefetch('/api/session');

void import('./main');

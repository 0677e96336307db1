import { askAhead } from '@/api/client';
import { retrieveAhead, startAhead } from './calls';
import { idOf } from './rules/view';

// Small, so that it runs while the rest is still on its way: the order is asked for now.
const target = idOf(window.location.pathname);
if (target?.kind === 'link') startAhead(target.id, new URLSearchParams(window.location.search));
else if (target) retrieveAhead(target.id);
if (target) void askAhead('/api/session');

void import('./main');

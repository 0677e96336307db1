import { askAhead } from '@/api/client';
import { firstCalls } from './first-calls';
import './opening.css';

// Small, so that it runs while the rest is still on its way: what the page will ask for first is asked for now.
for (const call of firstCalls(window.location.pathname, window.location.search)) void askAhead(call);

void import('./store');

import { prefetch } from '@/api/client';
import { preloadPaths } from './preload-paths';
import './opening.css';

// Small, so that it runs while the rest is still on its way: what the page will ask for first is asked for now.
for (const call of preloadPaths(window.location.pathname, window.location.search)) void prefetch(call);

void import('./store');

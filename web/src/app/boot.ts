import { prefetch } from '@/api/client';
import { preloadPaths } from './preload-paths';
import './shell.css';

// Kept small so that the first API requests start while the remaining scripts load.
for (const path of preloadPaths(window.location.pathname, window.location.search)) void prefetch(path);

void import('./store');

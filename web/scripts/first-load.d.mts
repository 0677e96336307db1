import type { Plugin } from 'vite';
export function firstLoad(): Plugin;

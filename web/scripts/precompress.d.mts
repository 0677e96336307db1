import type { Plugin } from 'vite';
export function precompress(): Plugin;
export function filesBelow(folder: string): string[];

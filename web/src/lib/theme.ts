import { store, stored } from './storage';

export type Theme = 'light' | 'dark';
export type ThemeChoice = Theme | 'system';

const KEY = 'theme';
const listeners = new Set<() => void>();
const darkSystem = () => window.matchMedia('(prefers-color-scheme: dark)');

export function themeChoice(): ThemeChoice {
  const value = stored(KEY);
  return value === 'light' || value === 'dark' ? value : 'system';
}

/** The current theme: the choice, or the system's scheme. */
export function theme(): Theme {
  const choice = themeChoice();
  if (choice !== 'system') return choice;
  return darkSystem().matches ? 'dark' : 'light';
}

function apply(): void {
  document.documentElement.dataset.theme = theme();
  for (const listener of listeners) listener();
}

export function setTheme(choice: ThemeChoice): void {
  store(KEY, choice === 'system' ? null : choice);
  apply();
}

/** For `useSyncExternalStore`; follows the system's scheme as well. */
export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  const system = darkSystem();
  system.addEventListener('change', apply);
  return () => {
    listeners.delete(listener);
    system.removeEventListener('change', apply);
  };
}

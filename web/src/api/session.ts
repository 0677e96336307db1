import { api } from './client';
import type { Session } from './types';

export const fetchSession = () => api.get<Session>('/api/session');

export async function logout(): Promise<void> {
  await api.post<null>('/api/session/logout');
}

/** The URL of a user's avatar, at twice the display size for high-density screens. */
export function avatarUrl(did: string, size: number): string {
  return `/.well-known/service/user/avatar/${encodeURIComponent(did)}?imageFilter=resize&w=${size * 2}&h=${size * 2}`;
}

import { api } from './client';
import type { Session } from './types';

export const fetchSession = () => api.get<Session>('/api/session');

export async function logout(): Promise<void> {
  await api.post<null>('/api/session/logout');
}

/** The avatar of any user, drawn by the server; twice the shown size for sharp screens. */
export function avatarAddress(did: string, size: number): string {
  return `/.well-known/service/user/avatar/${encodeURIComponent(did)}?imageFilter=resize&w=${size * 2}&h=${size * 2}`;
}

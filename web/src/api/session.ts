import { api } from './client';
import { syncToSpace } from './space';
import type { Session } from './types';

export async function fetchSession(): Promise<Session> {
  const session = await api.get<Session>('/api/session');
  if (session.user) void syncToSpace(session.user);
  return session;
}

export async function logout(): Promise<void> {
  await api.post<null>('/api/session/logout');
}

/** How long the upload of a picture may take, on a slow connection as well. */
const UPLOAD_TIMEOUT_MS = 60_000;

/** Makes a file the user's avatar. Returns the changed session. */
export const uploadPicture = (file: File) =>
  api.put<Session>('/api/session/picture', file, { timeoutMs: UPLOAD_TIMEOUT_MS });

/** Removes the user's picture: the store draws the avatar again. Returns the changed session. */
export const removePicture = () => api.delete<Session>('/api/session/picture');

/** The URL of a user's avatar, at twice the display size for high-density screens. */
export function avatarUrl(did: string, size: number): string {
  return `/.well-known/service/user/avatar/${encodeURIComponent(did)}?imageFilter=resize&w=${size * 2}&h=${size * 2}`;
}

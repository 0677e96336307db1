import { api } from '@/api/client';
import type { Session } from '@/api/types';

/** How long the upload of a picture may take, on a slow connection as well. */
const UPLOAD_TIMEOUT_MS = 60_000;

/** Makes a file the user's avatar. Returns the changed session. */
export const uploadPicture = (file: File) =>
  api.put<Session>('/api/session/picture', file, { timeoutMs: UPLOAD_TIMEOUT_MS });

/** Removes the user's picture: the store draws the avatar again. Returns the changed session. */
export const removePicture = () => api.delete<Session>('/api/session/picture');

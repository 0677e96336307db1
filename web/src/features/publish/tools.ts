import { queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import { ApiError } from '@/api/error';
import type { ApprovedTool, ToolRequest } from '@/api/types';
import type { NewToken } from './access-tokens';
import type { AppKey } from './app-keys';

export type ToolAction = ToolRequest['action'];

export const needsToken = (action: ToolAction): boolean => action === 'connect-cli' || action === 'connect-studio';

/** The request of a tool. It is not loaded again, because the request of a session does not change. */
export const toolRequestQuery = (token: string) =>
  queryOptions({
    queryKey: ['tool-session', token],
    queryFn: () => api.post<ToolRequest>('/api/tool-sessions/preview', { token }),
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnReconnect: false,
  });

export interface ToolApproval {
  token: string;
  /** The access token that the tool gets. */
  access?: NewToken;
  keys: AppKey[];
}

/** Approves a request. The secret keys of apps stay in the browser. */
export const approveTool = ({ token, access, keys }: ToolApproval) =>
  api.post<ApprovedTool>('/api/tool-sessions/approve', {
    token,
    ...access,
    // Without a name, the token is named after the tool.
    name: access?.name.trim() || undefined,
    keys: keys.map(({ did, publicKey }) => ({ address: did, public_key: publicKey })),
  });

export const denyTool = (token: string) => api.post<void>('/api/tool-sessions/deny', { token });

/** Whether a session is over, was answered already, or never existed. */
export const isInvalidSession = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 'CONNECT_EXPIRED' || error.code === 'TOOL_ANSWERED');

/**
 * Tells the page that has opened this one, as published pages do. The reference sends it to any origin; here only a page
 * of this store learns that somebody has connected a tool.
 */
export function notifyOpener(isSuccess: boolean): void {
  const opener = window.opener as Window | null;
  opener?.postMessage({ type: 'connect-store-message', success: isSuccess }, window.location.origin);
}

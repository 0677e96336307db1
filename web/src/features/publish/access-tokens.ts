import { queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { AccessToken, CreatedAccessToken, Page, SessionUser } from '@/api/types';

/** The access tokens of the signed-in developer, newest first. */
export const accessTokensQuery = queryOptions({
  queryKey: ['developer', 'access-tokens'],
  queryFn: () => api.get<Page<AccessToken>>('/api/developer/access-tokens'),
});

export const TOKEN_SCOPES = ['publish-new', 'publish-update', 'yank'] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];
export const TOKEN_LIFETIMES = [30, 90, 180, 365] as const;
/** As those of the server (`publishing/access_tokens`). */
export const TOKEN_NAME_MAX = 64;
export const APP_PATTERNS_MAX = 20;
const PATTERN = /^[A-Za-z0-9\-_.@/*]{1,64}$/;

export const arePatterns = (apps: string[] | undefined): boolean =>
  apps !== undefined && apps.length > 0 && apps.length <= APP_PATTERNS_MAX && apps.every((app) => PATTERN.test(app));

export interface NewToken {
  name: string;
  scopes: TokenScope[];
  apps: string[];
  lifetime_days: number;
}

export const createToken = (token: NewToken) => api.post<CreatedAccessToken>('/api/developer/access-tokens', token);

export const deleteToken = ({ id, name }: Pick<AccessToken, 'id' | 'name'>) =>
  api.delete<Page<AccessToken>>(`/api/developer/access-tokens/${encodeURIComponent(id)}`, { query: { name } });

/** Whether the user holds a developer passport. Administrators need one as well. */
export const isDeveloper = (user: Pick<SessionUser, 'passports'> | null | undefined): boolean =>
  user?.passports.some(({ role }) => role === 'developer') ?? false;

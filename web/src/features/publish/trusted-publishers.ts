import { queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { CiIssuer, TrustedPublisherList } from '@/api/types';
import type { TokenScope } from './access-tokens';

const PATH = '/api/developer/trusted-publishers';

/** The trusted publishers of the signed-in developer, newest first, and the issuers that the store accepts. */
export const trustedPublishersQuery = queryOptions({
  queryKey: ['developer', 'trusted-publishers'],
  queryFn: () => api.get<TrustedPublisherList>(PATH),
});

/** Empty: any workflow, any environment, the id of the first run's repository. */
export interface NewPublisher {
  issuer: string;
  repository: string;
  repository_id: string;
  workflow: string;
  environment: string;
  protected_refs_only: boolean;
  scopes: TokenScope[];
  apps: string[];
}

export const registerPublisher = (publisher: NewPublisher) => api.post<TrustedPublisherList>(PATH, publisher);

export const removePublisher = (id: string) => api.delete<TrustedPublisherList>(`${PATH}/${encodeURIComponent(id)}`);

/** The path of a repository: two names at GitHub, at least two at GitLab. The server has further rules. */
export function isRepository(text: string | undefined, provider: CiIssuer['provider']): boolean {
  const names = (text ?? '')
    .trim()
    .replace(/^\/+|\/+$/g, '')
    .split('/');
  const isName = (name: string) => /^[A-Za-z0-9\-_.]+$/.test(name);
  return names.every(isName) && (provider === 'github' ? names.length === 2 : names.length >= 2);
}

/** The number by which a provider knows a repository, or nothing. */
export const isRepositoryId = (text: string | undefined): boolean => /^([1-9][0-9]{0,19})?$/.test((text ?? '').trim());

/** How a job of a provider is set up, for this store. */
export function jobExample(provider: CiIssuer['provider'], audience: string): string {
  const command = 'souk pack --check && souk publish';
  return provider === 'github'
    ? `permissions:
  contents: read
  id-token: write
jobs:
  publish:
    runs-on: ubuntu-latest
    env:
      SOUK_STORE: ${audience}
    steps:
      - uses: actions/checkout@v4
      - run: ${command}`
    : `publish:
  variables:
    SOUK_STORE: ${audience}
  id_tokens:
    SOUK_ID_TOKEN:
      aud: ${audience}
  script:
    - ${command}`;
}

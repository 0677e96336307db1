import { useMutation, useQuery } from '@tanstack/react-query';
import { Button, Flex } from 'antd';
import { useEffect, useState } from 'react';
import type { SessionUser } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { storeQuery, useUser } from '@/app/queries';
import { RequireAuth } from '@/app/require-auth';
import { ActionError } from '@/features/billing/action-error';
import { focusAfterChange } from '@/features/billing/focus';
import { LinkButton } from '@/features/billing/link-button';
import { LoadError, Loading, PageResult } from '@/features/billing/states';
import { isOpenToAll, programQuery } from '@/features/join/program';
import { announce } from '@/kit/announce';
import { isDeveloper } from './access-tokens';
import { useTexts } from './texts';
import { ToolApproval } from './tool-approval';
import { closesOnSuccess, type ToolSearch, toolToken } from './tool-link';
import { denyTool, isInvalidSession, needsToken, notifyOpener, type ToolAction, toolRequestQuery } from './tools';

interface ToolPageProps {
  action: ToolAction;
  search: ToolSearch;
}

/** The page that a developer's tool opens: the user approves or denies its request (SPEC.md 2). */
export function ToolPage({ action, search }: ToolPageProps) {
  const { t } = useTexts();
  const user = useUser();
  const { data: store, isPending } = useQuery(storeQuery);
  usePageTitle(t(`tool.title.${action}`));
  const token = toolToken(search.__connect_url__, [window.location.origin, store?.url]);
  // The link can name the public address of the store, which is another one behind a proxy.
  if (!token && search.__connect_url__ && isPending) return <Loading title rows={6} />;
  if (!token) return <InvalidSession action={action} />;
  return (
    <RequireAuth>
      {user ? (
        <Request
          key={token}
          action={action}
          token={token}
          user={user}
          closes={closesOnSuccess(search.closeOnSuccess)}
        />
      ) : null}
    </RequireAuth>
  );
}

/** The address lacks a session of this store, or the session is over. */
function InvalidSession({ action }: { action: ToolAction }) {
  const { t } = useTexts();
  return (
    <PageResult
      status="error"
      title={t('tool.invalid')}
      text={t(`tool.invalidText.${action}`)}
      action={<LinkButton to="/">{t('tool.toStore')}</LinkButton>}
    />
  );
}

interface RequestProps {
  action: ToolAction;
  token: string;
  user: SessionUser;
  /** Whether the window closes after an approval. */
  closes: boolean;
}

function Request({ action, token, user, closes }: RequestProps) {
  const { t } = useTexts();
  const [ending, setEnding] = useState<'approved' | 'denied' | null>(null);
  const end = (how: 'approved' | 'denied') => {
    announce(t(`tool.${how}`));
    setEnding(how);
    focusAfterChange('h1');
  };
  const { data, error, refetch } = useQuery(toolRequestQuery(token));
  if (ending === 'approved') return <Approved action={action} closes={closes} />;
  if (ending === 'denied') return <Denied />;
  if (isInvalidSession(error) || (data && data.action !== action)) return <InvalidSession action={action} />;
  if (error && !data) return <LoadError title={t('tool.error')} error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading title rows={6} />;
  if (needsToken(action) && !isDeveloper(user))
    return <DeveloperRequired token={token} onDenied={() => end('denied')} />;
  return (
    <ToolApproval
      token={token}
      request={data}
      user={user}
      onApproved={() => end('approved')}
      onDenied={() => end('denied')}
    />
  );
}

/** The tool asks for an access token, which only developers have. The request stays open until somebody answers it. */
function DeveloperRequired({ token, onDenied }: { token: string; onDenied: () => void }) {
  const { t } = useTexts();
  const program = useQuery(programQuery).data;
  const isBlocked = program?.standing?.blocked ?? false;
  const isOpen = isOpenToAll(program) && !isBlocked;
  const deny = useMutation({ mutationFn: () => denyTool(token), onSuccess: onDenied });
  return (
    <PageResult
      status={isBlocked ? 'error' : 'warning'}
      title={t(isBlocked ? 'tokens.blocked' : 'tool.forbidden')}
      text={t(isBlocked ? 'tokens.blockedText' : isOpen ? 'tool.joinText' : 'tool.forbiddenText')}
      action={
        <Flex vertical gap={16} align="center">
          <LinkButton to={isOpen ? '/join' : '/'}>{t(isOpen ? 'tokens.toJoin' : 'tool.toStore')}</LinkButton>
          <ActionError title={t('tool.notDenied')} action={deny} />
          <Button loading={deny.isPending} onClick={() => deny.mutate()}>
            {t('tool.deny')}
          </Button>
        </Flex>
      }
    />
  );
}

function Approved({ action, closes }: { action: ToolAction; closes: boolean }) {
  const { t } = useTexts();
  useEffect(() => {
    notifyOpener(true);
    // Browsers close only windows that a page has opened.
    if (closes) window.close();
  }, [closes]);
  return (
    <PageResult
      status="success"
      title={t('tool.approved')}
      text={t(`tool.approvedText.${action}`)}
      action={<LinkButton to="/">{t('tool.toStore')}</LinkButton>}
    />
  );
}

function Denied() {
  const { t } = useTexts();
  useEffect(() => notifyOpener(false), []);
  return (
    <PageResult
      status="info"
      title={t('tool.denied')}
      text={t('tool.deniedText')}
      action={<LinkButton to="/">{t('tool.toStore')}</LinkButton>}
    />
  );
}

import { useCallback, useEffect, useRef, useState } from 'react';
import { api, embeddedStore, mountPrefix } from '@/api/client';
import { useLocale } from '@/i18n/light';
import { loadErrorMessages, translateProblem } from '@/i18n/translate';
import { Alert } from '@/kit/alert';
import { announce } from '@/kit/announce';
import { Button, ButtonLink } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { Check, Spinner } from '@/kit/icons';
import { Skeleton } from '@/kit/skeleton';
import { copyText } from '@/lib/clipboard';
import { livemode } from '@/lib/livemode';
import { authUrl, type ConnectCalls, type ConnectState, connect } from './connection';
import type { ConnectOptions } from './index';
import { QrCode } from './qr';
import { t } from './text';
import '@/kit/kit.css';
import './connect.css';

function callsOf({ action, prefix = '/api/did', extraParams = {} }: ConnectOptions): ConnectCalls {
  const path = `${prefix}/${action}`;
  return {
    token: () => api.get(`${path}/token`, { ...extraParams, provider: 'wallet' }),
    status: (token) => api.get(`${path}/status`, { _t_: token }),
    timeout: (token) => api.get(`${path}/timeout`, { _t_: token }),
  };
}

/** A page without the store's info was not served by a store, and asks one whose sandbox is on. */
const hasSandbox = embeddedStore?.sandbox !== false;

/** Opens the browser wallet of test mode in its own window. */
function openSandbox(link: string): void {
  const page = `${mountPrefix()}/sandbox/wallet?url=${encodeURIComponent(authUrl(link))}`;
  window.open(page, '_blank', 'popup,width=420,height=720');
}

interface ConnectDialogProps {
  options: ConnectOptions;
  onEnd: (did?: string | null) => void;
  /** Whether the page learned the outcome elsewhere. */
  isSettled: () => boolean;
}

export function ConnectDialog({ options, onEnd, isSettled }: ConnectDialogProps) {
  useLocale();
  const [state, setState] = useState<ConnectState>({ name: 'loading' });
  const [attempt, setAttempt] = useState(0);
  const end = useRef(onEnd);
  end.current = onEnd;

  // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt is a new connection.
  useEffect(() => {
    const connection = connect(callsOf(options), (next) => {
      setState(next);
      if (next.name === 'succeed') end.current(next.did);
      if (next.name === 'error') options.onError?.(reasonText(next));
    });
    // The wallet may still use the token of a settled request.
    return () => connection.stop(isSettled());
  }, [options, attempt]);

  // Rejections arrive as successful status responses, so the API client does not load the messages.
  useEffect(() => void loadErrorMessages(), []);

  const step = state.name === 'scanned' ? state.step : undefined;
  useEffect(() => {
    if (state.name === 'created') announce(t('created'));
    if (state.name === 'scanned') announce(scannedText(step));
  }, [state.name, step]);

  const retry = useCallback(() => setAttempt((count) => count + 1), []);

  return (
    <Dialog title={options.title ?? t('title')} closeLabel={t('action.close')} onClose={() => onEnd(null)}>
      <div className="connect" data-state={state.name} data-sandbox={!livemode() || undefined}>
        <Body state={state} failedTitle={options.failedTitle} onRetry={retry} />
      </div>
    </Dialog>
  );
}

/** A connection can have several requests. */
const scannedText = (step: number | undefined) => (step ? t('step') : t('scanned'));

/** The reason of the failure in the language of the page. */
function reasonText(
  state: Extract<ConnectState, { name: 'error' | 'busy' | 'timeout' | 'forbidden' | 'network' }>,
): string {
  if (state.name !== 'error' || !state.problem.error) return t(`${state.name}.text`);
  return translateProblem(state.problem);
}

interface BodyProps {
  state: ConnectState;
  failedTitle: string | undefined;
  onRetry: () => void;
}

function Body({ state, failedTitle, onRetry }: BodyProps) {
  switch (state.name) {
    case 'loading':
      return (
        <>
          <p className="k-hint">{t('loading')}</p>
          <Skeleton height={228} width={228} />
          <Skeleton height={44} />
        </>
      );
    case 'created':
      return <ScanStep link={state.link} />;
    case 'scanned':
      return (
        <div className="connect-scanned">
          <Spinner />
          <p>{scannedText(state.step)}</p>
          {state.mfaCode && <p className="connect-mfa money">{t('mfa', { code: String(state.mfaCode) })}</p>}
        </div>
      );
    case 'succeed':
      return (
        <p className="connect-scanned">
          <Check /> {t('succeed')}
        </p>
      );
    default:
      return (
        <>
          <Alert severity="danger" urgent title={(state.name === 'error' && failedTitle) || t(`${state.name}.title`)}>
            <p>{reasonText(state)}</p>
          </Alert>
          <Button variant="primary" wide onClick={onRetry} autoFocus>
            {t(state.name === 'error' ? 'action.retry' : 'retry')}
          </Button>
        </>
      );
  }
}

function ScanStep({ link }: { link: string }) {
  const [copied, setCopied] = useState(false);
  const [failed, setFailed] = useState(false);
  const copy = async () => {
    const succeeded = await copyText(link);
    setCopied(succeeded);
    setFailed(!succeeded);
    if (succeeded) announce(t('copied'));
  };
  return (
    <>
      <p>{t('lead')}</p>
      <QrCode text={link} label={t('qr')} />
      <p className="connect-wait k-hint">
        <Spinner /> {t('created')}
      </p>
      {!livemode() && (
        <div className="connect-sandbox">
          {hasSandbox && (
            <Button variant="primary" wide onClick={() => openSandbox(link)}>
              {t('sandbox')}
            </Button>
          )}
          <p className="k-hint">{t(hasSandbox ? 'sandboxHint' : 'sandboxOff')}</p>
        </div>
      )}
      <div className="connect-actions">
        <ButtonLink href={link} target="_blank" rel="noreferrer" variant={livemode() ? 'primary' : 'secondary'}>
          {t('open')}
          <span className="sr-only"> {t('a11y.newTab')}</span>
        </ButtonLink>
        <Button onClick={copy}>{copied ? t('copied') : t('copy')}</Button>
      </div>
      {failed && (
        <p role="alert" className="connect-link">
          {t('action.notCopied')} <code>{link}</code>
        </p>
      )}
    </>
  );
}

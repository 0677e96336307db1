import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { useLocale } from '@/i18n/light';
import { Alert } from '@/kit/alert';
import { ButtonLink } from '@/kit/button';
import { ArrowLeft } from '@/kit/icons';
import { Toasts } from '@/kit/toast';
import { storedLivemode } from '@/lib/livemode';
import { locale as pageLocale } from '@/lib/locale';
import { broadcast } from './broadcast';
import { retrieve } from './calls';
import { type Loaded, type SetCheckout, useCheckout } from './hooks/use-checkout';
import { useForm } from './hooks/use-form';
import { useNow } from './hooks/use-now';
import { useOnline } from './hooks/use-online';
import { paysByCard, useOrder } from './hooks/use-order';
import { usePayment } from './hooks/use-payment';
import { useLazyModule } from './lazy-module';
import { extrasModule, hasCrossSell, outcomeModule } from './lazy-modules';
import { modeOf, pageAt, safeUrl, viewOf } from './rules/view';
import { ErrorBoundary } from './sections/boundary';
import { OrderForm } from './sections/form';
import { Header, TestBar } from './sections/header';
import { Loading } from './sections/loading';
import { EmptyState, ErrorState } from './sections/states';
import { Summary } from './sections/summary';
import { t, translate } from './text';
import './checkout.css';

/** Preloaded when a card is chosen, so that it opens at once. */
const loadCardDialog = () => import('./sections/card');
const CardDialog = lazy(loadCardDialog);

const SandboxOff = lazy(() => import('./sections/sandbox-off'));

/** Lazy, because most visitors have already accepted cookies. */
const Cookies = lazy(() => import('./sections/cookies'));

const EXPIRY_TICK_MS = 1000;
/** How often an order is reloaded that only the local clock considers expired. */
const EXPIRY_RECHECK_MS = 5000;
/** The page shows the remaining time from here on. */
const EXPIRY_WARNING_S = 300;

export function CheckoutPage() {
  const locale = useLocale();
  const { state, reload, setCheckout } = useCheckout();
  const isOnline = useOnline();
  const mode = modeOf(new URLSearchParams(window.location.search));
  const standalone = mode.startsWith('standalone');
  const minimal = mode.endsWith('-minimal');
  const isTestMode = state.name === 'ready' && !state.checkout.checkoutSession.livemode;
  // Reserves space for the test bar unless this browser is known to be in live mode, to avoid a layout shift.
  const [reserved] = useState(() => storedLivemode() !== true);

  useEffect(() => {
    document.documentElement.lang = locale;
  }, [locale]);

  return (
    <div className="checkout" data-mode={mode} data-minimal={minimal || undefined}>
      {(isTestMode || (reserved && state.name !== 'error')) && (
        <TestBar isVisible={isTestMode} store={state.name === 'ready' ? state.store : null} />
      )}
      {standalone && <Header store={state.name === 'ready' ? state.store : null} />}
      <div role="status" className="checkout-offline">
        {(!isOnline || (state.name === 'loading' && state.lost)) && <Alert severity="warn">{t('state.offline')}</Alert>}
      </div>
      <main>
        {state.name === 'loading' && <Loading minimal={minimal} />}
        {state.name === 'error' && (
          <>
            <Title text={t('title.error', { title: t('state.oopsTitle') })} />
            <ErrorState text={state.text} onRetry={state.isFinal ? undefined : reload} />
          </>
        )}
        {state.name === 'sandboxOff' && (
          <Suspense fallback={null}>
            <SandboxOff />
          </Suspense>
        )}
        {state.name === 'ready' && (
          <ErrorBoundary onRetry={reload}>
            <LoadedCheckout
              {...state}
              minimal={minimal}
              standalone={standalone}
              reload={reload}
              setCheckout={setCheckout}
            />
          </ErrorBoundary>
        )}
      </main>
      <Toasts />
      {standalone && (
        <Suspense fallback={null}>
          <Cookies />
        </Suspense>
      )}
    </div>
  );
}

function Title({ text }: { text: string }) {
  useEffect(() => {
    document.title = text;
  }, [text]);
  return null;
}

interface LoadedCheckoutProps extends Loaded {
  minimal: boolean;
  standalone: boolean;
  reload: () => void;
  setCheckout: SetCheckout;
}

function LoadedCheckout(props: LoadedCheckoutProps) {
  const { checkout, store, setCheckout } = props;
  const session = checkout.checkoutSession;
  const now = useNow(EXPIRY_TICK_MS);
  const storeName = window.blocklet?.appName ?? store?.name ?? 'Souk';
  const [isBusy, setBusy] = useState(false);
  const view = viewOf(checkout, now, isBusy);
  const initialView = useRef(view);
  const justCompleted = view === 'completed' && initialView.current !== 'completed';
  useEffect(() => {
    if (justCompleted) broadcast('completed', { id: session.id });
  }, [justCompleted, session.id]);

  // An order that the local clock considers expired can be paid or processing.
  const isExpiryUnconfirmed = view === 'expired' && session.status === 'open';
  useEffect(() => {
    if (!isExpiryUnconfirmed) return;
    const recheck = () => void retrieve(session.id).then(setCheckout, () => undefined);
    recheck();
    const timer = setInterval(recheck, EXPIRY_RECHECK_MS);
    return () => clearInterval(timer);
  }, [isExpiryUnconfirmed, session.id, setCheckout]);

  const back = safeUrl(session.cancel_url, window.location.origin);
  const outcome = useLazyModule(outcomeModule, view === 'completed');
  const startAgain = back && (
    <ButtonLink variant={isExpiryUnconfirmed ? 'secondary' : 'primary'} href={back}>
      {t('state.startAgain')}
    </ButtonLink>
  );

  switch (view) {
    case 'completed':
      return (
        <>{outcome && <outcome.Completed checkout={checkout} storeName={storeName} justCompleted={justCompleted} />}</>
      );
    case 'expired':
      return (
        <>
          <Title text={t('state.expiredTitle')} />
          <EmptyState
            title={t('state.expiredTitle')}
            // Only the server can confirm that nothing was charged.
            text={t(session.status === 'expired' ? 'state.expiredText' : 'state.expiredUnconfirmed')}
            action={startAgain}
          />
        </>
      );
    case 'empty':
      return (
        <>
          <Title text={t('state.emptyTitle')} />
          <EmptyState title={t('state.emptyTitle')} text={t('state.emptyText')} action={startAgain} />
        </>
      );
    default:
      return <OpenCheckout {...props} storeName={storeName} now={now} setBusy={setBusy} />;
  }
}

function OpenCheckout({
  checkout,
  user,
  store,
  crossSell,
  minimal,
  standalone,
  reload,
  setCheckout,
  storeName,
  now,
  setBusy,
}: LoadedCheckoutProps & { storeName: string; now: number; setBusy: (isBusy: boolean) => void }) {
  const locale = pageLocale();
  const session = checkout.checkoutSession;
  const currentOrder = useOrder({ checkout, user, now, setCheckout });
  const card = paysByCard(currentOrder.option);
  const form = useForm({ session, customer: checkout.customer, user, card, locale });
  const walletTitle = currentOrder.recurring
    ? translate(currentOrder.headline)
    : t('connect.payTitle', { amount: currentOrder.totalText });
  const payment = usePayment({
    checkout,
    user,
    appPid: store?.appPid,
    option: currentOrder.option,
    total: currentOrder.total,
    form,
    walletTitle,
    setCheckout,
  });
  const { state } = payment;
  const isSent = state.name === 'paying' || state.name === 'paid';
  const outcome = useLazyModule(outcomeModule, isSent);
  const isBusy = state.name !== 'idle';
  useEffect(() => {
    setBusy(isBusy);
    return () => setBusy(false);
  }, [isBusy, setBusy]);
  const order = { ...currentOrder, locked: isBusy, shakes: payment.shakes };
  const secondsLeft = session.expires_at - now;
  const settings = currentOrder.option?.method.settings.stripe;
  // A subscription is shown without the extras; its upsell, and often its fast payment, follow.
  const extras = useLazyModule(
    extrasModule,
    session.mode !== 'payment' || state.name === 'fastPayConfirmation' || payment.problem?.kind === 'limited',
  );

  useEffect(() => {
    if (card) loadCardDialog().catch(() => undefined);
  }, [card]);

  const title = `${translate(currentOrder.headline)} · ${currentOrder.totalLabel ?? currentOrder.totalText}`;
  const required = session.cross_sell_behavior === 'required';
  if (currentOrder.options.length === 0) {
    if (!session.livemode && store?.sandbox === false)
      return (
        <Suspense fallback={null}>
          <SandboxOff />
        </Suspense>
      );
    return <EmptyState title={t('state.noMethodTitle')} text={t('state.noMethodText')} />;
  }
  return (
    <div className="checkout-columns">
      <Title text={title} />
      {!minimal && (
        <div className="checkout-left">
          {standalone && <BackArrow cancelUrl={session.cancel_url} storeName={storeName} />}
          <Summary
            order={order}
            sessionId={session.id}
            crossSell={crossSell}
            offers={hasCrossSell(session)}
            required={required}
          />
        </div>
      )}
      <div className="checkout-form">
        <div className="checkout-form-inner">
          {minimal && <h1 className="sr-only">{translate(currentOrder.headline)}</h1>}
          {secondsLeft <= EXPIRY_WARNING_S && state.name === 'idle' && (
            <div role="status">
              <Alert severity="warn">
                {t('state.expiresSoon', { count: Math.max(1, Math.ceil(secondsLeft / 60)) })}
              </Alert>
            </div>
          )}
          {outcome && state.name === 'paying' && !state.timedOut && <outcome.Paying by={state.by} />}
          {outcome && state.name === 'paying' && state.timedOut && (
            <outcome.PayingTimeout onRetry={() => payment.poll(state.by)} />
          )}
          {!isSent && (
            <>
              {minimal && extras && currentOrder.currency && (
                <extras.RequiredExtras
                  order={order}
                  currency={currentOrder.currency}
                  sessionId={session.id}
                  offer={crossSell}
                  required={required}
                />
              )}
              <OrderForm
                order={order}
                form={form}
                payment={payment}
                user={user}
                storeName={storeName}
                onSignedIn={reload}
              />
              {standalone && <Cancel cancelUrl={session.cancel_url} />}
            </>
          )}
        </div>
      </div>
      {extras && state.name === 'fastPayConfirmation' && currentOrder.currency && (
        <extras.FastPay
          info={state.info}
          currency={currentOrder.currency}
          recurring={currentOrder.recurring}
          {...{ storeName, payment }}
        />
      )}
      {extras && state.name === 'customerLimited' && (
        <extras.OverdueDialog
          owner={checkout.customer?.id ?? user?.did ?? ''}
          appPid={store?.appPid}
          onPaid={payment.pay}
          onClose={payment.dismissLimit}
        />
      )}
      {state.name === 'cardPaying' && settings && (
        <Suspense fallback={null}>
          <CardDialog
            amount={currentOrder.totalText}
            sessionId={session.id}
            settings={settings}
            context={state.context}
            values={form.values}
            onAccepted={() => payment.poll('card')}
            onClose={payment.closeCardForm}
          />
        </Suspense>
      )}
    </div>
  );
}

const backUrl = (cancelUrl: string | null | undefined) => safeUrl(cancelUrl, window.location.origin) ?? pageAt('/');

/** Goes to the seller's cancel URL, else back in history, else to the store. */
function goBack(event: React.MouseEvent, cancelUrl: string | null | undefined): void {
  if (cancelUrl || window.history.length < 2 || !document.referrer) return;
  event.preventDefault();
  window.history.back();
}

function BackArrow({ cancelUrl, storeName }: { cancelUrl: string | null | undefined; storeName: string }) {
  return (
    <a className="checkout-back" href={backUrl(cancelUrl)} onClick={(event) => goBack(event, cancelUrl)}>
      <ArrowLeft />
      {t('nav.backTo', { name: storeName })}
    </a>
  );
}

function Cancel({ cancelUrl }: { cancelUrl: string | null | undefined }) {
  return (
    <ButtonLink
      variant="quiet"
      wide
      className="checkout-cancel"
      href={backUrl(cancelUrl)}
      onClick={(event) => goBack(event, cancelUrl)}
    >
      {t('nav.cancel')}
    </ButtonLink>
  );
}

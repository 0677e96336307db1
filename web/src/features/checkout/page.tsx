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
import { crossSells, extrasModule, outcomeModule } from './lazy-modules';
import { Boundary } from './parts/boundary';
import { OrderForm } from './parts/form';
import { Header, TestBar } from './parts/header';
import { Loading } from './parts/loading';
import { Notice, Oops } from './parts/notice';
import { Summary } from './parts/summary';
import { modeOf, pageAt, safeUrl, viewOf } from './rules/view';
import { t, translate } from './text';
import './checkout.css';

/** Loaded once a card is chosen; the payment then finds it there. */
const loadCardDialog = () => import('./parts/card');
const CardDialog = lazy(loadCardDialog);

/** Few see it, and it must not keep anybody waiting. */
const Cookies = lazy(() => import('./parts/cookies'));

const EXPIRY_TICK_MS = 1000;
/** How often an order is asked for that only this browser's clock calls expired. */
const DOUBT_MS = 5000;
/** From here on the page says how long it still holds. */
const EXPIRY_WARNING_S = 300;

export function CheckoutPage() {
  const locale = useLocale();
  const { state, reload, setCheckout } = useCheckout();
  const online = useOnline();
  const mode = modeOf(new URLSearchParams(window.location.search));
  const standalone = mode.startsWith('standalone');
  const minimal = mode.endsWith('-minimal');
  const testing = state.name === 'ready' && !state.checkout.checkoutSession.livemode;
  // Unless it is known that this browser pays for real, the bar has its place from the start: nothing moves later.
  const [reserved] = useState(() => storedLivemode() !== true);

  useEffect(() => {
    document.documentElement.lang = locale;
  }, [locale]);

  return (
    <div className="checkout" data-mode={mode} data-minimal={minimal || undefined}>
      {(testing || reserved) && <TestBar shown={testing} />}
      {standalone && <Header store={state.name === 'ready' ? state.store : null} />}
      <div role="status" className="checkout-offline">
        {(!online || (state.name === 'loading' && state.lost)) && <Alert severity="warn">{t('state.offline')}</Alert>}
      </div>
      <main>
        {state.name === 'loading' && <Loading minimal={minimal} />}
        {state.name === 'error' && (
          <>
            <Title text={t('title.error', { title: t('state.oopsTitle') })} />
            <Oops text={state.text} onRetry={reload} />
          </>
        )}
        {state.name === 'ready' && (
          <Boundary onRetry={reload}>
            <Ready {...state} minimal={minimal} standalone={standalone} reload={reload} setCheckout={setCheckout} />
          </Boundary>
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

interface ReadyProps extends Loaded {
  minimal: boolean;
  standalone: boolean;
  reload: () => void;
  setCheckout: SetCheckout;
}

function Ready(props: ReadyProps) {
  const { checkout, store, setCheckout } = props;
  const session = checkout.checkoutSession;
  const now = useNow(EXPIRY_TICK_MS);
  const storeName = window.blocklet?.appName ?? store?.name ?? 'Souk';
  const [isBusy, setBusy] = useState(false);
  const view = viewOf(checkout, now, isBusy);
  const first = useRef(view);
  const fresh = view === 'completed' && first.current !== 'completed';
  useEffect(() => {
    if (fresh) broadcast('completed', { id: session.id });
  }, [fresh, session.id]);

  // What this clock calls over may be paid by now, or be on its way.
  const doubted = view === 'expired' && session.status === 'open';
  useEffect(() => {
    if (!doubted) return;
    const ask = () => void retrieve(session.id).then(setCheckout, () => undefined);
    ask();
    const timer = setInterval(ask, DOUBT_MS);
    return () => clearInterval(timer);
  }, [doubted, session.id, setCheckout]);

  const back = safeUrl(session.cancel_url, window.location.origin);
  const outcome = useLazyModule(outcomeModule, view === 'completed');
  const again = back && (
    <ButtonLink variant={doubted ? 'secondary' : 'primary'} href={back}>
      {t('state.startAgain')}
    </ButtonLink>
  );

  switch (view) {
    case 'completed':
      return <>{outcome && <outcome.Completed checkout={checkout} storeName={storeName} fresh={fresh} />}</>;
    case 'expired':
      return (
        <>
          <Title text={t('state.expiredTitle')} />
          <Notice
            title={t('state.expiredTitle')}
            // That nothing was charged is the server's to say.
            text={t(session.status === 'expired' ? 'state.expiredText' : 'state.expiredDoubt')}
            action={again}
          />
        </>
      );
    case 'empty':
      return (
        <>
          <Title text={t('state.emptyTitle')} />
          <Notice title={t('state.emptyTitle')} text={t('state.emptyText')} action={again} />
        </>
      );
    default:
      return <Buying {...props} storeName={storeName} now={now} setBusy={setBusy} />;
  }
}

function Buying({
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
}: ReadyProps & { storeName: string; now: number; setBusy: (isBusy: boolean) => void }) {
  const locale = pageLocale();
  const session = checkout.checkoutSession;
  const bought = useOrder({ checkout, user, now, setCheckout });
  const card = paysByCard(bought.option);
  const form = useForm({ session, customer: checkout.customer, user, card, locale });
  const walletTitle = bought.recurring
    ? translate(bought.headline)
    : t('connect.payTitle', { amount: bought.totalText });
  const payment = usePayment({
    checkout,
    user,
    appPid: store?.appPid,
    option: bought.option,
    form,
    walletTitle,
    setCheckout,
  });
  const { state } = payment;
  const sent = state.name === 'paying' || state.name === 'paid';
  const outcome = useLazyModule(outcomeModule, sent);
  const isBusy = state.name !== 'idle';
  useEffect(() => {
    setBusy(isBusy);
    return () => setBusy(false);
  }, [isBusy, setBusy]);
  const order = { ...bought, locked: isBusy, shakes: payment.shakes };
  const left = session.expires_at - now;
  const settings = bought.option?.method.settings.stripe;
  const extras = useLazyModule(
    extrasModule,
    state.name === 'fastPayConfirmation' || payment.problem?.kind === 'limited',
  );

  useEffect(() => {
    if (card) loadCardDialog().catch(() => undefined);
  }, [card]);

  const title = `${translate(bought.headline)} · ${bought.large ?? bought.totalText}`;
  const required = session.cross_sell_behavior === 'required';
  if (bought.options.length === 0) {
    return <Notice title={t('state.noMethodTitle')} text={t('state.noMethodText')} />;
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
            offers={crossSells(session)}
            required={required}
          />
        </div>
      )}
      <div className="checkout-form">
        <div className="checkout-form-inner">
          {minimal && <h1 className="sr-only">{translate(bought.headline)}</h1>}
          {left <= EXPIRY_WARNING_S && state.name === 'idle' && (
            <div role="status">
              <Alert severity="warn">{t('state.expiresSoon', { count: Math.max(1, Math.ceil(left / 60)) })}</Alert>
            </div>
          )}
          {outcome && state.name === 'paying' && !state.timedOut && <outcome.Paying by={state.by} />}
          {outcome && state.name === 'paying' && state.timedOut && (
            <outcome.PayingTimeout onAgain={() => payment.poll(state.by)} />
          )}
          {!sent && (
            <>
              {minimal && extras && bought.currency && (
                <extras.Needed
                  order={order}
                  currency={bought.currency}
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
      {extras && state.name === 'fastPayConfirmation' && bought.currency && (
        <extras.FastPay info={state.info} currency={bought.currency} storeName={storeName} payment={payment} />
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
            amount={bought.totalText}
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

const backAddress = (cancelUrl: string | null | undefined) => safeUrl(cancelUrl, window.location.origin) ?? pageAt('/');

/** Back to where the seller says, else one page back, else the store. */
function goBack(event: React.MouseEvent, cancelUrl: string | null | undefined): void {
  if (cancelUrl || window.history.length < 2 || !document.referrer) return;
  event.preventDefault();
  window.history.back();
}

function BackArrow({ cancelUrl, storeName }: { cancelUrl: string | null | undefined; storeName: string }) {
  return (
    <a className="checkout-back" href={backAddress(cancelUrl)} onClick={(event) => goBack(event, cancelUrl)}>
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
      href={backAddress(cancelUrl)}
      onClick={(event) => goBack(event, cancelUrl)}
    >
      {t('nav.cancel')}
    </ButtonLink>
  );
}

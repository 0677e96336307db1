import { type FormEvent, useEffect, useRef, useState } from 'react';
import { openConnect } from '@/features/connect';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import type { PaymentState } from '../hooks/payment-state';
import type { Form } from '../hooks/use-form';
import { type Order, paysByCard } from '../hooks/use-order';
import type { Payment } from '../hooks/use-payment';
import { frameModule } from '../lazy-modules';
import { type FieldName, shownFields } from '../rules/fields';
import { pageAt } from '../rules/view';
import { type Key, t } from '../text';
import type { SessionUser } from '../wire';
import { BuyAgain, BuyerNotices, ownedItems } from './buyer';
import { errorText, Fields } from './fields';
import { Methods } from './methods';

interface OrderFormProps {
  order: Order;
  form: Form;
  payment: Payment;
  user: SessionUser | null;
  storeName: string;
  onSignedIn: () => void;
}

/**
 * Right, on surface: contact, method, what happens next, and the button with the amount. Contact comes first even where
 * a wallet pays: every method needs it, it is filled in already, and the choice stands beside the button it names.
 */
export function OrderForm({ order, form, payment, user, storeName, onSignedIn }: OrderFormProps) {
  const [pointing, setPointing] = useState<{ at: FieldName[] } | null>(null);
  const summary = useRef<HTMLDivElement>(null);
  const [asksAgain, setAsksAgain] = useState(false);
  const sending = ['submitting', 'cardPaying', 'fastPayConfirmation'].includes(payment.state.name);
  const card = paysByCard(order.option);

  const frame = frameModule.loaded;
  const elsewhere = !user && frame && !frame.holdsLogin ? frame : null;

  // The button loses the focus while it is busy; whoever comes back from a dialog is where they were.
  const button = useRef<HTMLDivElement>(null);
  const wasSending = useRef(sending);
  useEffect(() => {
    const back = wasSending.current && !sending && document.activeElement === document.body;
    wasSending.current = sending;
    if (back) button.current?.querySelector('button')?.focus({ preventScroll: true });
  }, [sending]);

  // One wrong field is focused; several are listed first.
  useEffect(() => {
    if (!pointing) return;
    if (pointing.at.length > 1) summary.current?.focus();
    else focusField(pointing.at[0]);
  }, [pointing]);

  const pay = async () => {
    setAsksAgain(false);
    const errors = await payment.pay();
    setPointing({ at: shownFields(form.context).filter((name) => errors[name]) });
  };
  const onSubmit = async (event: FormEvent) => {
    event.preventDefault();
    if (elsewhere) return;
    if (!user) {
      openConnect({ action: 'login', title: t('form.connectTitle', { name: storeName }), onSuccess: onSignedIn });
      return;
    }
    if (order.blocked || sending) return;
    if (ownedItems(order).length > 0) setAsksAgain(true);
    else await pay();
  };

  return (
    // Another form once somebody is signed in: what is in it appears, nothing is pushed down.
    <form
      key={String(Boolean(user))}
      className="checkout-order-form"
      noValidate
      onSubmit={onSubmit}
      aria-label={t('form.heading')}
    >
      <ProblemBanner payment={payment} />
      <BuyerNotices order={order} />
      {pointing && pointing.at.length > 1 && <ErrorSummary ref={summary} form={form} />}
      {user && <Fields form={form} />}
      <Methods order={order} />
      {elsewhere ? (
        <elsewhere.InTab sessionId={form.context.session.id} currencyId={order.currency?.id} onLeave={payment.follow} />
      ) : (
        <>
          <p className="checkout-detail">{t(noteOf(order, Boolean(user), card))}</p>
          <div className="checkout-pay" ref={button}>
            <Button type="submit" variant="primary" wide loading={sending} disabled={Boolean(user) && order.blocked}>
              {user ? (sending ? t(waitingFor(payment.state)) : payLabel(order)) : t('form.connectFirst')}
            </Button>
          </div>
        </>
      )}
      {asksAgain && <BuyAgain order={order} onBuy={pay} onClose={() => setAsksAgain(false)} />}
    </form>
  );
}

function waitingFor(state: PaymentState): Key {
  if (state.name === 'cardPaying') return 'form.waitingCard';
  return state.name === 'submitting' && state.waitingFor === 'wallet' ? 'form.waitingWallet' : 'form.submitting';
}

function noteOf(order: Order, signedIn: boolean, card: boolean): Key {
  if (!signedIn) return 'form.connectHint';
  if (order.recurring) return card ? 'form.cardNoteRecurring' : 'form.walletNoteRecurring';
  return card ? 'form.cardNote' : 'form.walletNote';
}

function payLabel(order: Order): string {
  if (order.total === '0')
    return t(order.trial ? 'form.startTrial' : order.recurring ? 'form.start' : 'form.confirmFree');
  if (order.trial && order.payment === '0') return t('form.startTrialDeposit', { amount: order.totalText });
  if (order.recurring && order.payment === '0') return t('form.subscribeDeposit', { amount: order.totalText });
  return t(order.recurring ? 'form.subscribe' : 'form.pay', { amount: order.totalText });
}

function focusField(name: FieldName | undefined): void {
  if (name) document.getElementById(name)?.focus();
}

function ErrorSummary({ form, ref }: { form: Form; ref: React.Ref<HTMLDivElement> }) {
  const wrong = shownFields(form.context).filter((name) => form.errors[name]);
  if (wrong.length === 0) return null;
  return (
    <Alert severity="danger" title={t('form.summaryTitle')} ref={ref}>
      <ul>
        {wrong.map((name) => (
          <li key={name}>
            <a
              href={`#${name}`}
              onClick={(event) => {
                event.preventDefault();
                focusField(name);
              }}
            >
              {errorText(form.errors[name])}
            </a>
          </li>
        ))}
      </ul>
    </Alert>
  );
}

function ProblemBanner({ payment: { problem } }: { payment: Payment }) {
  const banner = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (problem) banner.current?.scrollIntoView({ block: 'nearest' });
  }, [problem]);
  if (!problem) return null;
  if (problem.kind === 'limited') {
    const back = encodeURIComponent(window.location.href);
    return (
      <Alert ref={banner} severity="warn" urgent title={t('error.CUSTOMER_LIMITED.title')}>
        <p>{t('error.CUSTOMER_LIMITED.text')}</p>
        <p>
          <a href={pageAt(`/customer/invoice/past-due?referer=${back}`)}>{t('error.CUSTOMER_LIMITED.link')}</a>
        </p>
      </Alert>
    );
  }
  return (
    <Alert ref={banner} severity="danger" urgent title={t('error.failedTitle')}>
      <p>{problem.text}</p>
      <p>{t('error.unchanged')}</p>
      {problem.crossSell && (
        <p>
          <a href="#cross-sell" target="_self">
            {t('error.crossSell')}
          </a>
        </p>
      )}
    </Alert>
  );
}

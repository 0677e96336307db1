import { type FormEvent, useEffect, useRef, useState } from 'react';
import { openConnect } from '@/features/connect';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import type { PaymentState } from '../hooks/payment-state';
import type { Form } from '../hooks/use-form';
import { type Order, paysByCard } from '../hooks/use-order';
import type { Payment } from '../hooks/use-payment';
import { frameModule } from '../lazy-modules';
import { type FieldName, visibleFields } from '../rules/fields';
import { pageAt } from '../rules/view';
import { type Key, t } from '../text';
import type { SessionUser } from '../types';
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
 * The right column: contact, payment method, note and pay button. Contact comes first because every method needs it;
 * the method is next to the button that names it.
 */
export function OrderForm({ order, form, payment, user, storeName, onSignedIn }: OrderFormProps) {
  const [invalidFields, setInvalidFields] = useState<{ names: FieldName[] } | null>(null);
  const summary = useRef<HTMLDivElement>(null);
  const [isConfirmingRepeat, setConfirmingRepeat] = useState(false);
  const isSending = ['submitting', 'cardPaying', 'fastPayConfirmation'].includes(payment.state.name);
  const card = paysByCard(order.option);

  const frame = frameModule.loaded;
  const externalCheckout = !user && frame && !frame.canStoreSession ? frame : null;

  // A disabled button loses the focus; it is restored when the dialog closes.
  const button = useRef<HTMLDivElement>(null);
  const wasSendingBefore = useRef(isSending);
  useEffect(() => {
    const hasLostFocus = wasSendingBefore.current && !isSending && document.activeElement === document.body;
    wasSendingBefore.current = isSending;
    if (hasLostFocus) button.current?.querySelector('button')?.focus({ preventScroll: true });
  }, [isSending]);

  // Focuses a single invalid field; several are listed in a summary first.
  useEffect(() => {
    if (!invalidFields) return;
    if (invalidFields.names.length > 1) summary.current?.focus();
    else focusField(invalidFields.names[0]);
  }, [invalidFields]);

  const pay = async () => {
    setConfirmingRepeat(false);
    const errors = await payment.pay();
    setInvalidFields({ names: visibleFields(form.context).filter((name) => errors[name]) });
  };
  const onSubmit = async (event: FormEvent) => {
    event.preventDefault();
    if (externalCheckout) return;
    if (!user) {
      openConnect({ action: 'login', title: t('form.connectTitle', { name: storeName }), onSuccess: onSignedIn });
      return;
    }
    if (order.blocked || isSending) return;
    if (ownedItems(order).length > 0) setConfirmingRepeat(true);
    else await pay();
  };

  return (
    // The key remounts the form after sign-in.
    <form
      key={String(Boolean(user))}
      className="checkout-order-form"
      noValidate
      onSubmit={onSubmit}
      aria-label={t('form.heading')}
    >
      <ProblemBanner payment={payment} />
      <BuyerNotices order={order} />
      {invalidFields && invalidFields.names.length > 1 && <ErrorSummary ref={summary} form={form} />}
      {user && <Fields form={form} isFree={order.payment === '0'} />}
      <Methods order={order} />
      {externalCheckout ? (
        <externalCheckout.OpenInTab
          sessionId={form.context.session.id}
          currencyId={order.currency?.id}
          onLeave={payment.follow}
        />
      ) : (
        <>
          <p className="checkout-detail">{t(noteKey(order, Boolean(user), card))}</p>
          <div className="checkout-pay" ref={button}>
            <Button type="submit" variant="primary" wide loading={isSending} disabled={Boolean(user) && order.blocked}>
              {user ? (isSending ? t(waitingFor(payment.state)) : payLabel(order)) : t('form.connectFirst')}
            </Button>
          </div>
        </>
      )}
      {isConfirmingRepeat && <BuyAgain order={order} onBuy={pay} onClose={() => setConfirmingRepeat(false)} />}
    </form>
  );
}

function waitingFor(state: PaymentState): Key {
  if (state.name === 'cardPaying') return 'form.waitingCard';
  return state.name === 'submitting' && state.waitingFor === 'wallet' ? 'form.waitingWallet' : 'form.submitting';
}

function noteKey(order: Order, signedIn: boolean, card: boolean): Key {
  if (!signedIn) return 'form.connectHint';
  if (order.recurring) {
    if (card) return 'form.cardNoteRecurring';
    const note = order.payment === '0' ? 'form.walletNoteRecurring' : 'form.walletNoteCharge';
    return order.stake === '0' ? note : `${note}Deposit`;
  }
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
  const invalid = visibleFields(form.context).filter((name) => form.errors[name]);
  if (invalid.length === 0) return null;
  return (
    <Alert severity="danger" title={t('form.summaryTitle')} ref={ref}>
      <ul>
        {invalid.map((name) => (
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
    const referer = encodeURIComponent(window.location.href);
    return (
      <Alert ref={banner} severity="warn" urgent title={t('error.CUSTOMER_LIMITED.title')}>
        <p>{t('error.CUSTOMER_LIMITED.text')}</p>
        <p>
          <a href={pageAt(`/customer/invoice/past-due?referer=${referer}`)}>{t('error.CUSTOMER_LIMITED.link')}</a>
        </p>
      </Alert>
    );
  }
  if (problem.kind === 'totalChanged') {
    return (
      <Alert ref={banner} severity="warn" urgent title={t('error.totalChangedTitle')}>
        <p>{problem.text}</p>
        <p>{t('error.unchanged')}</p>
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

import { useCallback, useEffect, useReducer, useRef, useState } from 'react';
import { idempotencyKey } from '@/api/client';
import type { ApiError } from '@/api/error';
import { sendErrorReport } from '@/app/tracking';
import { openConnect } from '@/features/connect';
import { translateDecline, translateError } from '@/i18n/translate';
import { announce } from '@/kit/announce';
import { toast } from '@/kit/toast';
import { formatMoney } from '@/lib/amount';
import { locale } from '@/lib/locale';
import { broadcast } from '../broadcast';
import { abortCard, confirmFast, isNetworkError, retrieve, submit, withRetries } from '../calls';
import { outcomeModule } from '../lazy-modules';
import { isCard, type PayOption } from '../rules/currency';
import { type FieldErrors, serverErrors, submitBody } from '../rules/fields';
import { isPayer } from '../rules/payer';
import { isComplete, paymentError, returnedFromBank } from '../rules/view';
import { type Outcome, watchSettlement } from '../settlement';
import { t } from '../text';
import type { Checkout, SessionUser, StripeContext, Submitted } from '../types';
import { initialPayment, type PaymentState, type Problem, type Rail, reducePayment } from './payment-state';
import type { SetCheckout } from './use-checkout';
import type { Form } from './use-form';
import { useRelay } from './use-relay';

/** SPEC.md 9: the card form opens 0.2 s after submit. */
const CARD_DELAY_MS = 200;
/** How often the session is polled without a relay while the wallet or card form is open. */
const FALLBACK_MS = 5000;
const SUBMIT_RETRIES = 3;

/** SPEC.md 8: failed payments are logged and reported to the embedding page. */
const reportError = (code: string, message: string) => {
  broadcast(`error.${code}`, { code, message });
  void sendErrorReport(new Error(`${code} ${message}`)).catch(() => undefined);
};

export interface Payment {
  state: PaymentState;
  problem: Problem | null;
  shakes: number;
  /** Resolves with the invalid fields; empty if the order was sent. */
  pay: () => Promise<FieldErrors>;
  closeCardForm: () => void;
  confirmFastPay: () => Promise<void>;
  dismissFastPay: () => void;
  dismissLimit: () => void;
  /** Polls the server after the card was accepted or its outcome is unknown. */
  poll: (by: Rail) => void;
  /** Polls the order while it is paid in another tab. */
  follow: () => void;
}

interface PaymentInput {
  checkout: Checkout;
  user: SessionUser | null;
  appPid: string | undefined;
  option: PayOption | null;
  /** The total that the page shows, in base units, deposit included. */
  total: string;
  form: Form;
  walletTitle: string;
  setCheckout: SetCheckout;
}

export function usePayment({
  checkout,
  user,
  appPid,
  option,
  total,
  form,
  walletTitle,
  setCheckout,
}: PaymentInput): Payment {
  const session = checkout.checkoutSession;
  const rail: Rail = option && isCard(option.method.type) ? 'card' : 'wallet';
  const [{ state, problem, shakes }, dispatch] = useReducer(reducePayment, null, () => {
    const error = paymentError(checkout.paymentIntent);
    const text = error && translateDecline(error, rail === 'card');
    const sent = returnedFromBank();
    return initialPayment(checkout, {
      sent,
      by: sent ? 'card' : rail,
      problem: text ? { kind: 'failed', text, crossSell: false } : null,
    });
  });
  const isSubmitting = useRef(false);
  const watcher = useRef<ReturnType<typeof watchSettlement>>(undefined);
  const closeWallet = useRef<() => void>(undefined);

  const read = useCallback(
    (latest: Checkout) => {
      // The open dialog would cover the completed order and keep the focus from its heading.
      if (isComplete(latest.checkoutSession)) closeWallet.current?.();
      setCheckout(latest);
      dispatch({ type: 'sessionRead', checkout: latest });
    },
    [setCheckout],
  );

  /** Reads the session once; it can have been paid elsewhere. */
  const refresh = useCallback(async () => {
    if (watcher.current) return watcher.current.checkNow();
    const latest = await retrieve(session.id).catch(() => null);
    if (latest) read(latest);
  }, [session.id, read]);

  const isPolling = state.name === 'paying' && !state.timedOut;
  const by = state.name === 'paying' ? state.by : rail;
  useEffect(() => {
    if (!isPolling) return;
    const onOutcome = (outcome: Outcome) => {
      watcher.current = undefined;
      if (outcome.name === 'completed') read(outcome.checkout);
      else if (outcome.name === 'failed') {
        const text = translateDecline(outcome.error, by === 'card');
        dispatch({ type: 'failed', text });
        toast(text);
        reportError('payment_failed', outcome.error.message ?? '');
      } else {
        dispatch({ type: 'pollTimedOut' });
        reportError('payment_timeout', '');
      }
    };
    watcher.current = watchSettlement(session.id, onOutcome);
    return () => {
      watcher.current?.stop();
      watcher.current = undefined;
    };
  }, [isPolling, by, session.id, read]);

  const isRelayUp = useRelay(session.id, appPid, refresh);
  const [isFollowing, setFollowing] = useState(false);
  const isWaitingElsewhere =
    state.name === 'cardPaying' ||
    (state.name === 'submitting' && state.waitingFor === 'wallet') ||
    (state.name === 'paying' && state.timedOut);
  useEffect(() => {
    // The relay reports only completed sessions; a payment started in another tab is found by polling.
    if (!isFollowing && (isRelayUp || !isWaitingElsewhere)) return;
    const timer = setInterval(refresh, FALLBACK_MS);
    return () => clearInterval(timer);
  }, [isRelayUp, isWaitingElsewhere, isFollowing, refresh]);

  const reject = async (error: unknown): Promise<FieldErrors> => {
    if (isNetworkError(error)) {
      dispatch({ type: 'failed', text: t('error.network') });
      toast(t('error.network'));
      return {};
    }
    const { code, fields, params } = error as ApiError;
    const invalid = serverErrors(fields, locale());
    if (Object.keys(invalid).length > 0) {
      dispatch({ type: 'rejected' });
      form.showErrors(invalid);
      return invalid;
    }
    // Another tab, or this one before a reload, has already paid.
    if (code === 'PAYMENT_IN_FLIGHT') dispatch({ type: 'paymentSent', by: rail });
    else if (code === 'CUSTOMER_LIMITED') dispatch({ type: 'customerLimited' });
    else if (code === 'TOTAL_CHANGED') {
      // The order changes before the explanation appears, so that both name the same amount.
      await refresh();
      const amount = option && params.total ? formatMoney(params.total, option.currency, locale()) : '';
      dispatch({ type: 'totalChanged', text: t('error.totalChanged', { amount }) });
    } else {
      const text = translateError(error);
      if (code) broadcast(`error.${code}`, { code, message: text });
      dispatch({ type: 'failed', text, crossSell: code === 'REQUIRE_CROSS_SELL' });
      toast(text);
      // The session can have expired or sold out: reload the order.
      if (code === 'EXPIRED' || code === 'EXCEED_INVENTORY') refresh();
    }
    return {};
  };

  const openWallet = () => {
    dispatch({ type: 'walletOpened' });
    closeWallet.current = openConnect({
      action: session.mode,
      extraParams: { checkoutSessionId: session.id, ...(user ? { sessionUserDid: user.did } : {}) },
      title: walletTitle,
      onSuccess: () => dispatch({ type: 'paymentSent', by: 'wallet' }),
      onClose: () => {
        dispatch({ type: 'walletClosed' });
        refresh();
      },
    });
  };

  const openCardForm = (context: StripeContext | null | undefined) => {
    if (!context || context.status === 'succeeded' || context.status === 'processing')
      dispatch({ type: 'paymentSent', by: 'card' });
    else setTimeout(() => dispatch({ type: 'cardFormOpened', context }), CARD_DELAY_MS);
  };

  /** Shows the completed order, or polls for it if it cannot be read now. */
  const finish = async () => {
    const latest = await retrieve(session.id).catch(() => null);
    if (latest && isComplete(latest.checkoutSession)) read(latest);
    else dispatch({ type: 'paymentSent', by: rail });
  };

  const advance = async ({ checkoutSession, ...response }: Submitted) => {
    const isSufficient = response.balance?.sufficient || response.delegation?.sufficient;
    if (checkoutSession && isComplete(checkoutSession)) await finish();
    else if (rail === 'card') openCardForm(response.stripeContext);
    else if (response.paymentIntent?.status === 'succeeded') dispatch({ type: 'paymentSent', by: 'wallet' });
    else if (response.fastPayInfo && isSufficient && session.submit_type !== 'donate')
      dispatch({ type: 'fastPayOffered', info: response.fastPayInfo });
    else openWallet();
  };

  const pay = async (): Promise<FieldErrors> => {
    if (isSubmitting.current || !option) return {};
    isSubmitting.current = true;
    outcomeModule.load().catch(() => undefined);
    try {
      const { context, errors } = await form.check();
      if (Object.keys(errors).length > 0) return errors;
      dispatch({ type: 'submitted' });
      const shown = { method: option.method.id, currency: option.currency.id, total };
      const body = submitBody(form.values, context, shown);
      const key = idempotencyKey();
      const response = await withRetries(() => submit(session.id, body, key), SUBMIT_RETRIES);
      const { customer } = response;
      if (customer) setCheckout((current) => ({ ...current, customer }));
      await advance(response);
      return {};
    } catch (error) {
      return await reject(error);
    } finally {
      isSubmitting.current = false;
    }
  };

  const payByWallet = (text: string) => {
    toast(text);
    announce(text);
    openWallet();
  };

  const confirmFastPay = async () => {
    if (state.name !== 'fastPayConfirmation' || state.isConfirming) return;
    const { info } = state;
    dispatch({ type: 'fastPayConfirmed' });
    try {
      if (!(await isPayer(info.payer, user))) {
        payByWallet(t('fast.changed'));
        return;
      }
      const key = idempotencyKey();
      const { fastPaid } = await withRetries(() => confirmFast(session.id, info, key), SUBMIT_RETRIES);
      if (fastPaid) dispatch({ type: 'paymentSent', by: 'wallet' });
      else payByWallet(t('fast.failed'));
    } catch (error) {
      // Without a response it can have been paid: the server's status decides.
      if (isNetworkError(error)) dispatch({ type: 'paymentSent', by: 'wallet' });
      else payByWallet(translateError(error));
    }
  };

  const closeCardForm = useCallback(() => {
    dispatch({ type: 'cardFormClosed' });
    abortCard(session.id)
      .catch(() => undefined)
      .then(refresh);
  }, [session.id, refresh]);

  return {
    state,
    problem,
    shakes,
    pay,
    confirmFastPay,
    closeCardForm,
    dismissFastPay: useCallback(() => dispatch({ type: 'fastPayDismissed' }), []),
    dismissLimit: useCallback(() => dispatch({ type: 'limitDismissed' }), []),
    poll: useCallback((rail: Rail) => dispatch({ type: 'paymentSent', by: rail }), []),
    follow: useCallback(() => setFollowing(true), []),
  };
}

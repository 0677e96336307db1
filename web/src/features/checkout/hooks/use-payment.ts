import { useCallback, useEffect, useRef, useState } from 'react';
import { idempotencyKey } from '@/api/client';
import type { ApiError } from '@/api/error';
import { fetchSession } from '@/api/session';
import { report } from '@/app/tracking';
import { openConnect } from '@/features/connect';
import { spoken, spokenError } from '@/i18n/spoken';
import { announce } from '@/kit/announce';
import { toast } from '@/kit/toast';
import { broadcast } from '../broadcast';
import { abortCard, confirmFast, isLost, repeated, retrieve, submit } from '../calls';
import { outcomePart } from '../parts-later';
import type { PayOption } from '../rules/currency';
import { isCard } from '../rules/currency';
import { FIELDS, type FieldErrors, type FieldName, submitBody } from '../rules/fields';
import { inFlight, isComplete, paymentError } from '../rules/view';
import { type Outcome, watchSettlement } from '../settlement';
import { t } from '../text';
import type { Checkout, FastPayInfo, SessionUser, StripeContext, Submitted } from '../wire';
import type { Take } from './use-checkout';
import type { Form } from './use-form';
import { useRelay } from './use-relay';

/** SPEC.md 9: the card form opens 0.2 s after submit. */
const CARD_DELAY_MS = 200;
/** How often a session is looked at without a relay while a wallet or a card form is open. */
const FALLBACK_MS = 5000;
const LOST_SUBMITS = 3;

/** SPEC.md 8: a payment that fails is logged, and told to the page around this one. */
const tell = (code: string, message: string) => {
  broadcast(`error.${code}`, { code, message });
  void report(new Error(`${code} ${message}`)).catch(() => undefined);
};

/** `did:abt:z1…` and `z1…` are one account. */
const bare = (did: string) => did.replace(/^did:abt:/, '');

export type Phase =
  | { name: 'idle' }
  | { name: 'submitting' }
  | { name: 'wallet' }
  | { name: 'card'; context: StripeContext }
  /** What was permitted before can pay: the buyer only says yes. */
  | { name: 'fast'; info: FastPayInfo; asking: boolean }
  | { name: 'paying'; by: 'wallet' | 'card' }
  | { name: 'timeout'; by: 'wallet' | 'card' };

export type Problem = { kind: 'limited' } | { kind: 'refused'; text: string; crossSell: boolean };

export interface Payment {
  phase: Phase;
  problem: Problem | null;
  /** Counts up whenever a required cross-sell was missing: the summary shakes once for each. */
  shakes: number;
  /** Resolves with the fields that are wrong, for the form to point at; empty when the order went off. */
  pay: () => Promise<FieldErrors>;
  /** The card form was closed without a payment. */
  leaveCard: () => void;
  /** Pays by what was permitted before; `leaveFast` goes back to the order. */
  payFast: () => Promise<void>;
  leaveFast: () => void;
  /** Unpaid invoices stand in the way and are shown. */
  limited: boolean;
  leaveLimited: () => void;
  /** They are paid: the order goes off again. */
  payAgain: () => void;
  /** The processor has taken the card, or its answer is unknown: watch what the server sees. */
  watch: (by: 'wallet' | 'card') => void;
  /** It is paid in another tab: looks for what becomes of it. */
  follow: () => void;
}

interface PaymentInput {
  checkout: Checkout;
  user: SessionUser | null;
  appPid: string | undefined;
  option: PayOption | null;
  form: Form;
  walletTitle: string;
  take: Take;
}

const fieldRefusals = (fields: Record<string, string>): FieldErrors =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([name]) => FIELDS.includes(name as FieldName))
      .map(([name, text]) => [name, { text }]),
  );

/** Has a bank led back here with what may be a payment? What it wrote into the address is taken out of it. */
function backFromBank(): boolean {
  const address = new URL(window.location.href);
  const query = address.searchParams;
  const status = query.get('redirect_status');
  if (!status) return false;
  for (const name of [...query.keys()]) if (/^(redirect_status|(payment|setup)_intent)/.test(name)) query.delete(name);
  window.history.replaceState(window.history.state, '', address);
  return status !== 'failed';
}

export function usePayment({ checkout, user, appPid, option, form, walletTitle, take }: PaymentInput): Payment {
  const session = checkout.checkoutSession;
  const [phase, setPhase] = useState<Phase>(() => {
    if (backFromBank()) return { name: 'paying', by: 'card' };
    return inFlight(checkout)
      ? { name: 'paying', by: option && isCard(option.method.type) ? 'card' : 'wallet' }
      : { name: 'idle' };
  });
  const [problem, setProblem] = useState<Problem | null>(() => {
    const text = paymentError(checkout.paymentIntent);
    return text ? { kind: 'refused', text: spoken(text), crossSell: false } : null;
  });
  const [shakes, setShakes] = useState(0);
  const [limited, setLimited] = useState(false);
  const busy = useRef(false);
  const watcher = useRef<ReturnType<typeof watchSettlement>>(undefined);

  const fail = useCallback((text: string) => {
    setPhase({ name: 'idle' });
    setProblem({ kind: 'refused', text, crossSell: false });
    toast(text);
  }, []);

  /** Looks once: was it paid by another way than this page saw? */
  const look = useCallback(async () => {
    if (watcher.current) return watcher.current.checkNow();
    const latest = await retrieve(session.id).catch(() => null);
    if (!latest) return;
    take(latest);
    if (inFlight(latest)) setPhase((now) => (now.name === 'idle' ? { name: 'paying', by: 'wallet' } : now));
  }, [session.id, take]);

  const paying = phase.name === 'paying';
  const by = phase.name === 'paying' ? phase.by : 'wallet';
  useEffect(() => {
    if (!paying) return;
    const settle = (outcome: Outcome) => {
      watcher.current = undefined;
      if (outcome.name === 'completed') take(outcome.checkout);
      else if (outcome.name === 'failed') {
        fail(spoken(outcome.message));
        tell('payment_failed', outcome.message);
      } else {
        setPhase({ name: 'timeout', by });
        tell('payment_timeout', '');
      }
    };
    watcher.current = watchSettlement(session.id, settle);
    return () => {
      watcher.current?.stop();
      watcher.current = undefined;
    };
  }, [paying, by, session.id, take, fail]);

  const relayUp = useRelay(session.id, appPid, look);
  const [following, setFollowing] = useState(false);
  const unseen = phase.name === 'wallet' || phase.name === 'card' || phase.name === 'timeout';
  useEffect(() => {
    // The relay tells the end alone; of what begins in another tab one hears by asking.
    if (!following && (relayUp || !unseen)) return;
    const timer = setInterval(look, FALLBACK_MS);
    return () => clearInterval(timer);
  }, [relayUp, unseen, following, look]);

  const refuse = (error: unknown): FieldErrors => {
    setPhase({ name: 'idle' });
    if (isLost(error)) {
      fail(t('error.network'));
      return {};
    }
    const { code, fields } = error as ApiError;
    const wrong = fieldRefusals(fields);
    if (Object.keys(wrong).length > 0) {
      form.refuse(wrong);
      return wrong;
    }
    if (code === 'PAYMENT_IN_FLIGHT') {
      // Another tab, or this one before a reload, has paid already: what is left is to wait for it.
      setPhase({ name: 'paying', by: option && isCard(option.method.type) ? 'card' : 'wallet' });
      return {};
    }
    if (code === 'CUSTOMER_LIMITED') {
      setProblem({ kind: 'limited' });
      setLimited(true);
      return {};
    }
    const text = spokenError(error);
    if (code) broadcast(`error.${code}`, { code, message: text });
    if (code === 'REQUIRE_CROSS_SELL') setShakes((count) => count + 1);
    setProblem({ kind: 'refused', text, crossSell: code === 'REQUIRE_CROSS_SELL' });
    toast(text);
    // It may have expired or sold out meanwhile: show the order as it now is.
    if (code === 'EXPIRED' || code === 'EXCEED_INVENTORY') look();
    return {};
  };

  /** It is complete: shows so, and looks again until the session can be read. */
  const conclude = async () => {
    const paid = await retrieve(session.id).catch(() => null);
    if (paid && isComplete(paid.checkoutSession)) take(paid);
    else setPhase({ name: 'paying', by: option && isCard(option.method.type) ? 'card' : 'wallet' });
  };

  const confirmByWallet = () => {
    setPhase({ name: 'wallet' });
    openConnect({
      action: session.mode,
      extraParams: { checkoutSessionId: session.id, ...(user ? { sessionUserDid: user.did } : {}) },
      title: walletTitle,
      onSuccess: () => setPhase({ name: 'paying', by: 'wallet' }),
      onClose: () => {
        setPhase({ name: 'idle' });
        look();
      },
    });
  };

  const confirmByCard = (context: StripeContext | null | undefined) => {
    if (!context || context.status === 'succeeded' || context.status === 'processing') {
      setPhase({ name: 'paying', by: 'card' });
    } else setTimeout(() => setPhase({ name: 'card', context }), CARD_DELAY_MS);
  };

  /** Whoever permitted it is who is signed in, here and now. */
  const isPayer = async (info: FastPayInfo): Promise<boolean> => {
    const present = (await fetchSession().catch(() => null))?.user ?? user;
    if (!present || present.did !== user?.did) return false;
    return [present.did, ...(present.connectedAccounts ?? []).map((it) => it.did)].some(
      (did) => did && bare(did) === bare(info.payer),
    );
  };

  const payFast = async () => {
    if (phase.name !== 'fast' || phase.asking) return;
    const { info } = phase;
    setPhase({ ...phase, asking: true });
    try {
      if (!(await isPayer(info))) {
        manually(t('fast.changed'));
        return;
      }
      const key = idempotencyKey();
      const { fastPaid } = await repeated(() => confirmFast(session.id, info, key), LOST_SUBMITS);
      if (fastPaid) setPhase({ name: 'paying', by: 'wallet' });
      else manually(t('fast.failed'));
    } catch (error) {
      // Without an answer it may have been paid: what the server sees decides.
      if (isLost(error)) setPhase({ name: 'paying', by: 'wallet' });
      else manually(spokenError(error));
    }
  };

  const manually = (text: string) => {
    toast(text);
    announce(text);
    confirmByWallet();
  };

  const proceed = async (answer: Submitted) => {
    const { checkoutSession, fastPayInfo } = answer;
    const enough = answer.balance?.sufficient || answer.delegation?.sufficient;
    // Nothing was to be paid, or it is paid already.
    if (checkoutSession && isComplete(checkoutSession)) await conclude();
    else if (option && isCard(option.method.type)) confirmByCard(answer.stripeContext);
    else if (answer.paymentIntent?.status === 'succeeded') setPhase({ name: 'paying', by: 'wallet' });
    else if (fastPayInfo && enough && session.submit_type !== 'donate')
      setPhase({ name: 'fast', info: fastPayInfo, asking: false });
    else confirmByWallet();
  };

  const pay = async (): Promise<FieldErrors> => {
    if (busy.current || !option) return {};
    busy.current = true;
    setProblem(null);
    outcomePart.load().catch(() => undefined);
    try {
      const { context, errors } = await form.check();
      if (Object.keys(errors).length > 0) return errors;
      setPhase({ name: 'submitting' });
      const body = submitBody(form.values, context, option.method.id, option.currency.id);
      const key = idempotencyKey();
      const answer = await repeated(() => submit(session.id, body, key), LOST_SUBMITS);
      const { customer } = answer;
      if (customer) take((now) => ({ ...now, customer }));
      await proceed(answer);
      return {};
    } catch (error) {
      return refuse(error);
    } finally {
      busy.current = false;
    }
  };

  const leaveCard = useCallback(() => {
    setPhase({ name: 'idle' });
    abortCard(session.id)
      .catch(() => undefined)
      .then(look);
  }, [session.id, look]);

  const watch = useCallback((way: 'wallet' | 'card') => setPhase({ name: 'paying', by: way }), []);

  const follow = useCallback(() => setFollowing(true), []);
  const leaveFast = useCallback(() => setPhase({ name: 'idle' }), []);
  const leaveLimited = useCallback(() => setLimited(false), []);
  const payAgain = () => {
    setLimited(false);
    pay();
  };

  return {
    phase,
    problem,
    shakes,
    limited,
    pay,
    payFast,
    leaveFast,
    leaveLimited,
    payAgain,
    leaveCard,
    watch,
    follow,
  };
}

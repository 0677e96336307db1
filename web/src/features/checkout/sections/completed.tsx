import { useEffect, useRef } from 'react';
import { apiUrl } from '@/api/client';
import { useLocale } from '@/i18n/light';
import { announce } from '@/kit/announce';
import { ButtonLink } from '@/kit/button';
import { Download } from '@/kit/icons';
import { formatMoney, toUnits } from '@/lib/amount';
import { t } from '../completed-text';
import { localized } from '../rules/fields';
import { effectivePrice, productName } from '../rules/price';
import { pageAt, safeUrl } from '../rules/view';
import type { Checkout, CheckoutSession, LineItem } from '../types';
import { Picture } from './picture';
import { TestMail } from './test-mail';

/** The settled total with deposit, the deposit, and the refunded amount; each null if zero. */
export function paidAmounts({ checkoutSession: session, paymentIntent, paymentMethods }: Checkout, locale: string) {
  const currencyId = paymentIntent?.currency_id ?? session.currency_id;
  const currency = paymentMethods.flatMap((each) => each.payment_currencies).find((each) => each.id === currencyId);
  const deposit = toUnits(session.stake_amount);
  const total = toUnits(session.amount_total ?? paymentIntent?.amount) + deposit;
  const format = (units: bigint) => (currency && units > 0n ? formatMoney(units.toString(), currency, locale) : null);
  return { total: format(total), deposit: format(deposit), refunded: format(toUnits(session.amount_refunded)) };
}

/** The subscriptions that the order created; several if items have different intervals. */
function subscriptionsOf(session: CheckoutSession): { id: string; price_ids?: string[] }[] {
  if (session.subscriptions?.length) return session.subscriptions;
  return session.subscription_id ? [{ id: session.subscription_id }] : [];
}

/** The names of a subscription's items. */
function namesOf(priceIds: string[], items: LineItem[], locale: string): string {
  const names = items.filter((item) => priceIds.includes(effectivePrice(item).id)).map((item) => nameOf(item, locale));
  return new Intl.ListFormat(locale === 'zh' ? 'zh-Hans' : 'en').format(names);
}

const nameOf = (item: LineItem, locale: string) => productName(effectivePrice(item), locale) ?? item.price_id;

/** A free start of a subscription has no receipt, but an email that says when the first payment is due. */
const sendsReceipt = ({ mode, amount_total: total }: CheckoutSession) => mode === 'payment' || toUnits(total) > 0n;

/** The texts of a completed order. */
function textsOf({ checkoutSession: session }: Checkout) {
  const free = session.payment_status === 'no_payment_required' || session.amount_total === '0';
  if (session.mode === 'setup') return { title: 'setup', message: 'message.setup' } as const;
  if (session.mode === 'subscription') {
    if (session.due?.trial_end) return { title: 'trial', message: 'message.trial' } as const;
    return { title: 'subscribed', message: 'message.subscription' } as const;
  }
  return { title: free ? 'free' : 'title', message: 'message' } as const;
}

/** Where the receipt or the confirmation went. */
function SentMail({ session, email }: { session: CheckoutSession; email: string }) {
  const sent = t(sendsReceipt(session) ? 'receipt' : 'confirmation', { email });
  return session.livemode ? <p className="checkout-detail">{sent}</p> : <TestMail email={email} sent={sent} />;
}

interface CompletedProps {
  checkout: Checkout;
  storeName: string;
  /** Completed while the page was open: focuses the heading and animates the check mark. */
  justCompleted: boolean;
}

export function Completed({ checkout, storeName, justCompleted }: CompletedProps) {
  const locale = useLocale();
  const heading = useRef<HTMLHeadingElement>(null);
  const { checkoutSession: session, paymentLink, customer } = checkout;
  const { total, deposit, refunded } = paidAmounts(checkout, locale);
  const texts = textsOf(checkout);
  const title = t(texts.title);
  useEffect(() => {
    document.title = t('pageTitle', { done: title, name: storeName });
  }, [title, storeName]);
  useEffect(() => {
    if (!justCompleted) return;
    announce(t('announced', { done: title }));
    heading.current?.focus();
  }, [justCompleted, title]);
  const subscriptions = subscriptionsOf(session);
  const confirmation = paymentLink?.after_completion?.hosted_confirmation;
  const message =
    localized(confirmation?.custom_messages ?? undefined, locale) ||
    confirmation?.custom_message ||
    t(texts.message, { payee: storeName, count: subscriptions.length });
  const next = safeUrl(session.success_url, window.location.origin);
  const entitlements = session.entitlements ?? [];
  // A product is listed as its app, a subscription always as such.
  const apps = new Set<unknown>(entitlements.map(({ app_did }) => app_did));
  const otherItems = session.line_items.filter((item) => {
    const { type, product } = effectivePrice(item);
    return type === 'recurring' || !apps.has(product?.app_did);
  });

  return (
    <section className="checkout-completed">
      <svg
        className="checkout-check"
        data-fresh={justCompleted || undefined}
        viewBox="0 0 56 56"
        width="56"
        height="56"
        aria-hidden="true"
      >
        <circle cx="28" cy="28" r="25" />
        <path d="m17 29 8 8 15-17" />
      </svg>
      <h1 ref={heading} tabIndex={-1}>
        {t(texts.title)}
      </h1>
      {total && <p className="checkout-total money">{total}</p>}
      {deposit && (
        <p className="checkout-detail">
          {t(deposit === total ? 'depositOnly' : 'depositIncluded', {
            amount: deposit,
            count: session.stake_return_days,
          })}
        </p>
      )}
      {refunded && <p className="checkout-detail">{t('refunded', { amount: refunded })}</p>}
      <p className="checkout-reason">{message}</p>
      <h2>{t(texts.title === 'setup' ? 'settled' : 'bought')}</h2>
      <ul className="checkout-bought">
        {entitlements.map(({ app_did, title, version, logo, status = 'active' }) => (
          <li key={app_did}>
            <Picture src={logo} name={localized(title, locale)} />
            <div>
              <a className="checkout-item-name" href={pageAt(`/apps/${app_did}`)}>
                {localized(title, locale)}
              </a>
              <p className="checkout-detail">{t('version', { version })}</p>
              {status === 'active' && (
                <p className="checkout-detail">
                  <a href={pageAt(`/apps/${app_did}`)}>{t('howToInstall', { name: localized(title, locale) })}</a>
                </p>
              )}
            </div>
            {status === 'active' ? (
              <ButtonLink
                href={apiUrl(`/api/apps/${app_did}/${version}/bundle`)}
                download
                variant="primary"
                aria-label={t('downloadOf', { name: localized(title, locale) })}
              >
                <Download />
                {t('download')}
              </ButtonLink>
            ) : (
              <p className="checkout-detail">{t(status)}</p>
            )}
          </li>
        ))}
        {otherItems.map((item) => (
          <li key={item.price_id}>
            <p className="checkout-item-name">{nameOf(item, locale)}</p>
            <p className="figures">× {item.quantity}</p>
          </li>
        ))}
      </ul>
      <div className="checkout-actions">
        {next && <ButtonLink href={next}>{t('continue')}</ButtonLink>}
        {subscriptions.map(({ id, price_ids }) => (
          <ButtonLink key={id} href={pageAt(`/customer/subscription/${id}`)}>
            {subscriptions.length > 1 && price_ids
              ? t('subscriptionOf', { name: namesOf(price_ids, session.line_items, locale) })
              : t('subscription')}
          </ButtonLink>
        ))}
        {subscriptions.length === 0 && session.invoice_id && (
          <ButtonLink href={pageAt(`/customer/invoice/${session.invoice_id}`)}>{t('invoice')}</ButtonLink>
        )}
        {!next && (
          <ButtonLink variant="quiet" href={pageAt('/')}>
            {t('next')}
          </ButtonLink>
        )}
      </div>
      {/* Last, because it needs an answer in test mode: nothing moves when it comes. */}
      {customer?.email && session.mode !== 'setup' && <SentMail session={session} email={customer.email} />}
    </section>
  );
}

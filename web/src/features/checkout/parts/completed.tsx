import { useEffect, useRef } from 'react';
import { callAddress } from '@/api/client';
import { useLocale } from '@/i18n/light';
import { announce } from '@/kit/announce';
import { ButtonLink } from '@/kit/button';
import { Download } from '@/kit/icons';
import { formatMoney } from '@/lib/amount';
import { renamed } from '@/lib/written-names';
import { t } from '../completed-text';
import { localized } from '../rules/fields';
import { payeeOf, pricedAs, productName, trialOf } from '../rules/price';
import { pageAt, safeUrl } from '../rules/view';
import type { Checkout, CheckoutSession, LineItem } from '../wire';
import { Picture } from './picture';

/** What was paid in all: base units of the session's currency, as the server settled it. */
export function paidAmount(
  { checkoutSession: session, paymentIntent, paymentMethods }: Checkout,
  locale: string,
): string | null {
  const currencyId = paymentIntent?.currency_id ?? session.currency_id;
  const currency = paymentMethods.flatMap((it) => it.payment_currencies).find((it) => it.id === currencyId);
  const amount = session.amount_total ?? paymentIntent?.amount;
  return currency && amount ? formatMoney(amount, currency, locale) : null;
}

/** What the order has begun, several where it was split by rhythm. */
function subscriptionsOf(session: CheckoutSession): { id: string; description?: string | null }[] {
  if (session.subscriptions?.length) return session.subscriptions;
  return session.subscription_id ? [{ id: session.subscription_id }] : [];
}

/** What was written down by English names, by those that the page's language has for them. */
function named(written: string, items: LineItem[], locale: string): string {
  if (locale !== 'zh') return written;
  const prices = items.map(pricedAs);
  return renamed(written, (name) => {
    const price = prices.find(({ product }) => product?.name === name);
    return price && productName(price, locale);
  });
}

/** How it is said that it is done. */
function wordsOf({ checkoutSession: session }: Checkout, now: number) {
  const free = session.payment_status === 'no_payment_required' || session.amount_total === '0';
  if (session.mode === 'setup') return { title: 'setup', message: 'message.setup' } as const;
  if (session.mode === 'subscription') {
    const trial = free && trialOf(session.subscription_data, session.currency_id, now);
    if (trial) return { title: 'trial', message: 'message.trial' } as const;
    return { title: 'subscribed', message: 'message.subscription' } as const;
  }
  return { title: free ? 'free' : 'title', message: 'message' } as const;
}

interface CompletedProps {
  checkout: Checkout;
  storeName: string;
  /** Paid while somebody was looking: the heading is focused and the check drawn. */
  fresh: boolean;
  /** Unix seconds. */
  now: number;
}

export function Completed({ checkout, storeName, fresh, now }: CompletedProps) {
  const locale = useLocale();
  const heading = useRef<HTMLHeadingElement>(null);
  const { checkoutSession: session, paymentLink, customer } = checkout;
  const amount = paidAmount(checkout, locale);
  const free = session.payment_status === 'no_payment_required';
  const words = wordsOf(checkout, now);
  const done = t(`done.${words.title}`);
  useEffect(() => {
    document.title = t('pageTitle', { done, name: storeName });
  }, [done, storeName]);
  useEffect(() => {
    if (!fresh) return;
    announce(t('announced', { done }));
    heading.current?.focus();
  }, [fresh, done]);
  const confirmation = paymentLink?.after_completion?.hosted_confirmation;
  const message =
    localized(confirmation?.custom_messages ?? undefined, locale) ||
    confirmation?.custom_message ||
    t(words.message, { payee: payeeOf(session.line_items, storeName) });
  const subscriptions = subscriptionsOf(session);
  const next = safeUrl(session.success_url, window.location.origin);
  const entitlements = session.entitlements ?? [];

  return (
    <section className="checkout-completed">
      <svg
        className="checkout-check"
        data-fresh={fresh || undefined}
        viewBox="0 0 56 56"
        width="56"
        height="56"
        aria-hidden="true"
      >
        <circle cx="28" cy="28" r="25" />
        <path d="m17 29 8 8 15-17" />
      </svg>
      <h1 ref={heading} tabIndex={-1}>
        {t(words.title)}
      </h1>
      {amount && !free && <p className="checkout-total money">{amount}</p>}
      <p className="checkout-reason">{message}</p>
      <h2>{t(words.title === 'setup' ? 'settled' : 'bought')}</h2>
      <ul className="checkout-bought">
        {entitlements.map(({ app_did, title, version, logo }) => (
          <li key={app_did}>
            <Picture src={logo} name={localized(title, locale)} />
            <div>
              <a className="checkout-item-name" href={pageAt(`/apps/${app_did}`)}>
                {localized(title, locale)}
              </a>
              <p className="checkout-detail">{t('version', { version })}</p>
            </div>
            <ButtonLink
              href={callAddress(`/api/apps/${app_did}/${version}/bundle`)}
              download
              look="primary"
              aria-label={t('downloadOf', { name: localized(title, locale) })}
            >
              <Download />
              {t('download')}
            </ButtonLink>
          </li>
        ))}
        {entitlements.length === 0 &&
          session.line_items.map((item) => (
            <li key={item.price_id}>
              <p className="checkout-item-name">{productName(pricedAs(item), locale) ?? item.price_id}</p>
              <p className="figures">× {item.quantity}</p>
            </li>
          ))}
      </ul>
      {customer?.email && <p className="checkout-detail">{t('receipt', { email: customer.email })}</p>}
      <div className="checkout-actions">
        {next && <ButtonLink href={next}>{t('continue')}</ButtonLink>}
        {subscriptions.map(({ id, description }) => (
          <ButtonLink key={id} href={pageAt(`/customer/subscription/${id}`)}>
            {subscriptions.length > 1 && description
              ? t('subscriptionOf', { name: named(description, session.line_items, locale) })
              : t('subscription')}
          </ButtonLink>
        ))}
        {subscriptions.length === 0 && session.invoice_id && (
          <ButtonLink href={pageAt(`/customer/invoice/${session.invoice_id}`)}>{t('invoice')}</ButtonLink>
        )}
        {!next && (
          <ButtonLink look="quiet" href={pageAt('/')}>
            {t('next')}
          </ButtonLink>
        )}
      </div>
    </section>
  );
}

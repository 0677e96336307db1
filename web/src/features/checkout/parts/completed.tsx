import { useEffect, useRef } from 'react';
import { callAddress } from '@/api/client';
import { useLocale } from '@/i18n/light';
import { ButtonLink } from '@/kit/button';
import { Download } from '@/kit/icons';
import { formatMoney } from '@/lib/amount';
import { localized } from '../rules/fields';
import { payeeOf, pricedAs } from '../rules/price';
import { mountPrefix, safeUrl } from '../rules/view';
import { t } from '../text';
import type { Checkout } from '../wire';
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

interface CompletedProps {
  checkout: Checkout;
  storeName: string;
  /** Paid while somebody was looking: the heading is focused and the check drawn. */
  fresh: boolean;
}

export function Completed({ checkout, storeName, fresh }: CompletedProps) {
  const locale = useLocale();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (fresh) heading.current?.focus();
  }, [fresh]);
  const { checkoutSession: session, paymentLink, customer } = checkout;
  const prefix = mountPrefix(window.location.pathname);
  const amount = paidAmount(checkout, locale);
  const free = session.payment_status === 'no_payment_required';
  const confirmation = paymentLink?.after_completion?.hosted_confirmation;
  const message =
    localized(confirmation?.custom_messages ?? undefined, locale) ||
    confirmation?.custom_message ||
    t('completed.message', { payee: payeeOf(session.line_items, storeName) });
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
        {t(free ? 'completed.free' : 'completed.title')}
      </h1>
      {amount && !free && <p className="checkout-total money">{amount}</p>}
      <p className="checkout-reason">{message}</p>
      <h2>{t('completed.bought')}</h2>
      <ul className="checkout-bought">
        {entitlements.map(({ app_did, title, version, logo }) => (
          <li key={app_did}>
            <Picture src={logo} name={localized(title, locale)} />
            <div>
              <a className="checkout-item-name" href={`${prefix}/apps/${app_did}`}>
                {localized(title, locale)}
              </a>
              <p className="checkout-detail">{t('completed.version', { version })}</p>
            </div>
            <ButtonLink
              href={callAddress(`/api/apps/${app_did}/${version}/bundle`)}
              download
              look="primary"
              aria-label={t('completed.downloadOf', { name: localized(title, locale) })}
            >
              <Download />
              {t('completed.download')}
            </ButtonLink>
          </li>
        ))}
        {entitlements.length === 0 &&
          session.line_items.map((item) => (
            <li key={item.price_id}>
              <p className="checkout-item-name">{pricedAs(item).product?.name ?? item.price_id}</p>
              <p className="figures">× {item.quantity}</p>
            </li>
          ))}
      </ul>
      {customer?.email && <p className="checkout-detail">{t('completed.receipt', { email: customer.email })}</p>}
      <div className="checkout-actions">
        {next && <ButtonLink href={next}>{t('completed.continue')}</ButtonLink>}
        {session.invoice_id && (
          <ButtonLink href={`${prefix}/customer/invoice/${session.invoice_id}`}>{t('completed.invoice')}</ButtonLink>
        )}
        {!next && (
          <ButtonLink look="quiet" href={`${prefix}/`}>
            {t('completed.next')}
          </ButtonLink>
        )}
      </div>
    </section>
  );
}

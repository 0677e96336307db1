import { type ReactNode, useState } from 'react';
import { useLocale } from '@/i18n/light';
import type { Order } from '../hooks/use-order';
import { customOf } from '../rules/custom';
import { lineAmount, renewalText, upsellOf } from '../rules/price';
import { upsellPercent } from '../rules/upsell';
import type { CheckoutSession, Currency, LineItem, Price } from '../types';
import { downsell, removeCrossSell, upsell } from './calls';
import { CustomAmount } from './custom-amount';
import { t } from './text';

export interface ItemExtrasProps {
  item: LineItem;
  order: Order;
  currency: Currency;
  sessionId: string;
}

/** Options of an item: upsell, custom amount, and removal of a cross-sell. */
export function ItemExtras(props: ItemExtrasProps) {
  const { item, order, currency, sessionId } = props;
  const custom = customOf(item.price, currency.id);
  return (
    <>
      {custom && <CustomAmount key={currency.id} {...props} custom={custom} />}
      {upsellOf(item, order.items, currency.id) && <Upsell {...props} />}
      {item.cross_sell && (
        <ChangeButton order={order} send={() => removeCrossSell(sessionId)} className="extras-remove">
          {t('crossSell.remove')}
        </ChangeButton>
      )}
    </>
  );
}

interface ChangeButtonProps {
  order: Order;
  send: () => Promise<CheckoutSession>;
  className: string;
  label?: string;
  children: ReactNode;
}

/** A button that changes the order and shows an error if that fails. */
export function ChangeButton({ order, send, className, label, children }: ChangeButtonProps) {
  const [error, setError] = useState<string | null>(null);
  return (
    <>
      <button
        type="button"
        className={className}
        aria-label={label}
        disabled={order.locked || order.isUpdating}
        onClick={async () => setError(await order.updateItems(send))}
      >
        {children}
      </button>
      {error && (
        <p className="k-error" role="alert">
          {error}
        </p>
      )}
    </>
  );
}

/** A switch for the longer interval, with its saving. */
function Upsell({ item, order, currency, sessionId }: ItemExtrasProps) {
  const locale = useLocale();
  const [error, setError] = useState<string | null>(null);
  const isUpsold = Boolean(item.upsell_price);
  const target = item.upsell_price ?? item.price.upsell?.upsells_to;
  const { recurring } = item.price;
  if (!target?.recurring || !recurring) return null;
  const amountAt = (price: Price) => lineAmount({ ...item, upsell_price: price }, currency.id);
  const amount = amountAt(target);
  const percent = upsellPercent({ amount: amountAt(item.price), recurring }, { amount, recurring: target.recurring });
  const price = renewalText({ recurring: target.recurring, amount, metered: false }, currency, locale);
  const toggle = async () =>
    setError(
      await order.updateItems(() =>
        isUpsold ? downsell(sessionId, target.id) : upsell(sessionId, item.price_id, target.id, currency.id),
      ),
    );
  return (
    <>
      <button
        type="button"
        role="switch"
        aria-checked={isUpsold}
        aria-busy={order.isUpdating || undefined}
        className="extras-switch"
        disabled={order.locked || order.isUpdating}
        onClick={toggle}
      >
        <span className="extras-track" aria-hidden="true" />
        <span>
          {t('upsell.label', { price })}
          {percent > 0 && <strong className="extras-save">{t('upsell.save', { percent })}</strong>}
        </span>
      </button>
      {error && (
        <p className="k-error" role="alert">
          {error}
        </p>
      )}
    </>
  );
}

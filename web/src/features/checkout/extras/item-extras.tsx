import { type ReactNode, useState } from 'react';
import { useLocale } from '@/i18n/light';
import type { Order } from '../hooks/use-order';
import { customOf } from '../rules/custom';
import { knowsCurrency, renewalText, unitAmount } from '../rules/price';
import { upsellPercent } from '../rules/upsell';
import type { CheckoutSession, Currency, LineItem } from '../wire';
import { downsell, removeCrossSell, upsell } from './calls';
import { CustomAmount } from './custom-amount';
import { t } from './text';

export interface ItemExtrasProps {
  item: LineItem;
  order: Order;
  currency: Currency;
  sessionId: string;
}

/** Below an item: another rhythm, an amount to choose, or the way to leave it out. */
export function ItemExtras(props: ItemExtrasProps) {
  const { item, order, currency, sessionId } = props;
  const custom = customOf(item.price, currency.id);
  const target = item.upsell_price ?? (order.items.length === 1 ? item.price.upsell?.upsells_to : null);
  return (
    <>
      {custom && <CustomAmount key={currency.id} {...props} custom={custom} />}
      {target?.recurring && knowsCurrency(target, currency.id) && <Upsell {...props} />}
      {item.cross_sell && (
        <Change order={order} send={() => removeCrossSell(sessionId)} className="extras-remove">
          {t('crossSell.remove')}
        </Change>
      )}
    </>
  );
}

interface ChangeProps {
  order: Order;
  send: () => Promise<CheckoutSession>;
  className: string;
  label?: string;
  children: ReactNode;
}

/** A button that changes the order and says when it was refused. */
export function Change({ order, send, className, label, children }: ChangeProps) {
  const [refusal, setRefusal] = useState<string | null>(null);
  return (
    <>
      <button
        type="button"
        className={className}
        aria-label={label}
        disabled={order.locked || order.amending}
        onClick={async () => setRefusal(await order.amend(send))}
      >
        {children}
      </button>
      {refusal && (
        <p className="k-error" role="alert">
          {refusal}
        </p>
      )}
    </>
  );
}

/** The longer rhythm as a switch, with what it saves. */
function Upsell({ item, order, currency, sessionId }: ItemExtrasProps) {
  const locale = useLocale();
  const [refusal, setRefusal] = useState<string | null>(null);
  const on = Boolean(item.upsell_price);
  const target = item.upsell_price ?? item.price.upsell?.upsells_to;
  const { recurring } = item.price;
  if (!target?.recurring || !recurring) return null;
  const amount = unitAmount(target, currency.id);
  const percent = upsellPercent(
    { amount: unitAmount(item.price, currency.id), recurring },
    { amount, recurring: target.recurring },
  );
  const price = renewalText({ rhythm: target.recurring, amount, metered: false }, currency, locale);
  const toggle = async () =>
    setRefusal(
      await order.amend(() =>
        on ? downsell(sessionId, target.id) : upsell(sessionId, item.price_id, target.id, currency.id),
      ),
    );
  return (
    <>
      <button
        type="button"
        role="switch"
        aria-checked={on}
        aria-busy={order.amending || undefined}
        className="extras-switch"
        disabled={order.locked || order.amending}
        onClick={toggle}
      >
        <span className="extras-track" aria-hidden="true" />
        <span>
          {t('upsell.label', { price })}
          {percent > 0 && <strong className="extras-save">{t('upsell.save', { percent })}</strong>}
        </span>
      </button>
      {refusal && (
        <p className="k-error" role="alert">
          {refusal}
        </p>
      )}
    </>
  );
}

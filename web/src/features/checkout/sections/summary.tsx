import { useId, useState } from 'react';
import { useLocale } from '@/i18n/light';
import { isTiered, priceSuffix, priceText } from '@/i18n/price';
import { Chevron } from '@/kit/icons';
import { Stepper } from '@/kit/stepper';
import { formatAmount, formatMoney, isNational } from '@/lib/amount';
import { usePhone } from '@/lib/use-phone';
import type { Order } from '../hooks/use-order';
import { extrasModule } from '../lazy-modules';
import { effectivePrice, lineText, productDescription, productName, upsellOf } from '../rules/price';
import { parseQuantity, type QuantityError, quantityRange } from '../rules/quantity';
import { t, translate } from '../text';
import type { Currency, LineItem, Price } from '../types';
import { Picture } from './picture';
import { Totals } from './totals';

/** SPEC.md 9: on a phone the list is collapsible from this many items. */
const COLLAPSE_FROM = 3;

interface SummaryProps {
  order: Order;
  sessionId: string;
  /** The cross-sell offer at page load. */
  crossSell: Price | null;
  /** The order has a cross-sell in at least one currency. */
  offers: boolean;
  /** The order cannot be placed without the cross-sell. */
  required: boolean;
}

/** The left column: headline, total and items. */
export function Summary({ order, sessionId, crossSell, offers, required }: SummaryProps) {
  const locale = useLocale();
  const extras = extrasModule.loaded;
  const isPhone = usePhone();
  const [isExpanded, setExpanded] = useState(false);
  const listId = useId();
  const { items, currency } = order;
  const isCollapsible = isPhone && items.length >= COLLAPSE_FROM;
  const isListVisible = !isCollapsible || isExpanded;

  return (
    <section className="checkout-summary" aria-labelledby="order-heading">
      <div className="checkout-summary-inner" key={order.shakes} data-shake={order.shakes > 0 || undefined}>
        <h1 id="order-heading">{translate(order.headline)}</h1>
        <p className="checkout-total money" data-testid="total">
          {order.totalLabel ?? (
            <>
              <span className="sr-only">{t('totals.total')} </span>
              {currency && <Total amount={order.total} currency={currency} />}
            </>
          )}
        </p>
        {order.nextChargeText && <p className="checkout-detail">{order.nextChargeText}</p>}
        {currency && order.stake !== '0' && (
          <p className="checkout-detail">
            {t(order.payment === '0' ? 'order.depositOnly' : 'order.depositIncluded', {
              amount: formatMoney(order.stake, currency, locale),
            })}
          </p>
        )}
        {isCollapsible && (
          <button
            type="button"
            className="k-button k-button-quiet checkout-fold"
            aria-expanded={isExpanded}
            aria-controls={listId}
            onClick={() => setExpanded(!isExpanded)}
          >
            {isExpanded ? t('order.hide') : t('order.show', { count: items.length })}
            <Chevron />
          </button>
        )}
        <ul id={listId} className="checkout-items" aria-label={t('order.items')} hidden={!isListVisible}>
          {items.map(
            (item) =>
              currency && (
                <Item key={item.price_id} item={item} order={order} currency={currency} sessionId={sessionId} />
              ),
          )}
        </ul>
        {extras && currency && offers && (
          <extras.CrossSell offer={crossSell} order={order} sessionId={sessionId} required={required} />
        )}
        {currency && order.recurring && <Totals order={order} currency={currency} />}
        {items.length > 1 && currency && !order.recurring && (
          <dl className="checkout-totals">
            <dt>{t('totals.total')}</dt>
            <dd className="money">{order.totalText}</dd>
          </dl>
        )}
      </div>
    </section>
  );
}

/** The large amount. A rounded token amount has the exact value as its title. */
function Total({ amount, currency }: { amount: string; currency: Currency }) {
  const locale = useLocale();
  const text = formatMoney(amount, currency, locale);
  if (isNational(currency)) return <>{text}</>;
  const number = text.slice(0, text.length - currency.symbol.length - 1);
  return (
    <span title={`${formatAmount(amount, currency.decimal)} ${currency.symbol}`}>
      {number}
      <small> {currency.symbol}</small>
    </span>
  );
}

const MESSAGES = {
  'Exceed inventory': 'order.exceedInventory',
  'Exceed purchase limit': 'order.exceedLimit',
} as const;

function quantityText(error: QuantityError, item: LineItem): string {
  const count = effectivePrice(item).quantity_limit_per_checkout ?? 0;
  return t(MESSAGES[error], { count });
}

interface ItemProps {
  item: LineItem;
  order: Order;
  currency: Currency;
  sessionId: string;
}

function Item({ item, order, currency, sessionId }: ItemProps) {
  const extras = extrasModule.loaded;
  const locale = useLocale();
  const price = effectivePrice(item);
  const name = productName(price, locale) ?? item.price_id;
  const description = productDescription(price, locale);
  const unitPrice = priceText(price, currency, { language: locale });
  const suffix = price.type === 'recurring' ? priceSuffix(price, { language: locale }, item.quantity) : '';
  const range = quantityRange(item);
  const quantityProblem = order.quantityErrors[item.price_id];
  const error =
    quantityProblem === 'range'
      ? Number.isFinite(range.maximum)
        ? t('order.quantityAtMost', { min: range.minimum, max: range.maximum })
        : t('order.quantityInvalid', { min: range.minimum })
      : quantityProblem &&
        (quantityProblem in MESSAGES ? quantityText(quantityProblem as QuantityError, item) : quantityProblem);

  return (
    <li className="checkout-item">
      <Picture src={price.product?.images?.[0]} name={name} />
      <div className="checkout-item-text">
        <p className="checkout-item-name">{name}</p>
        {description && <p className="checkout-detail checkout-clamp">{description}</p>}
        {item.quantity > 1 && (
          <p className="checkout-detail money">{isTiered(price) ? unitPrice : t('order.each', { price: unitPrice })}</p>
        )}
        {item.adjustable_quantity?.enabled ? (
          <Stepper
            id={`quantity-${item.price_id}`}
            label={t('order.quantityOf', { name })}
            decreaseLabel={t('order.decrease')}
            increaseLabel={t('order.increase')}
            value={order.quantityOf(item)}
            minimum={range.minimum}
            maximum={range.maximum}
            error={error}
            disabled={order.locked}
            parse={parseQuantity}
            onChange={(value) => order.setQuantity(item.price_id, value)}
          />
        ) : (
          <>
            {item.quantity > 1 && (
              <p className="checkout-detail">
                {t('order.quantity')} × <span className="figures">{item.quantity}</span>
              </p>
            )}
            {error && (
              <p className="k-error" role="alert">
                {error}
              </p>
            )}
          </>
        )}
        {extras ? (
          <extras.ItemExtras item={item} order={order} currency={currency} sessionId={sessionId} />
        ) : (
          upsellOf(item, order.items, currency.id) && <div className="checkout-switch-space" />
        )}
      </div>
      <p className="checkout-item-amount money">
        {lineText(item, currency, locale)}
        {suffix && <small className="checkout-detail">{suffix}</small>}
      </p>
    </li>
  );
}

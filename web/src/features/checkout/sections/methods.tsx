import { useLocale } from '@/i18n/light';
import { isCustom } from '@/i18n/price';
import { Card, Wallet } from '@/kit/icons';
import { RadioCards } from '@/kit/radio-cards';
import { formatMoney } from '@/lib/amount';
import type { Order } from '../hooks/use-order';
import { isCard, type PayOption } from '../rules/currency';
import { effectivePrice } from '../rules/price';
import { t } from '../text';

const nameOf = ({ currency, method }: PayOption) =>
  t(isCard(method.type) ? 'method.cardOf' : 'method.walletOf', { symbol: currency.symbol });

/** The network is named only if there are several. */
const detailOf = ({ method }: PayOption, withNetwork: boolean) =>
  isCard(method.type)
    ? t('method.cardDetail')
    : [withNetwork && method.name, t('method.walletDetail')].filter(Boolean).join(' · ');

/** Payment options: currencies and methods in one list, wallets first. */
export function Methods({ order }: { order: Order }) {
  const locale = useLocale();
  const custom = order.items.some((item) => isCustom(effectivePrice(item)));
  const amountOf = (option: PayOption) =>
    custom ? undefined : formatMoney(order.totalIn(option), option.currency, locale);
  const wallets = order.options.filter((option) => !isCard(option.method.type)).length;
  const cards = order.options.map((option) => ({
    value: option.currency.id,
    title: nameOf(option),
    detail: detailOf(option, wallets > 1),
    icon: isCard(option.method.type) ? <Card /> : <Wallet />,
    aside: amountOf(option),
  }));
  return (
    <RadioCards
      name="payment_currency"
      legend={<h2>{t('form.method')}</h2>}
      cards={cards}
      value={order.currency?.id ?? ''}
      onChange={order.choose}
      disabled={order.locked}
    />
  );
}

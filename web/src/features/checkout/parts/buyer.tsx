import { useLocale } from '@/i18n/light';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import type { Order } from '../hooks/use-order';
import { pricedAs, productName } from '../rules/price';
import { pageAt } from '../rules/view';
import { t } from '../text';
import type { LineItem } from '../wire';

/** The names of the items that a rule picks, as one text. */
function namesOf(items: LineItem[], locale: string): string {
  const names = [...new Set(items.map((item) => productName(pricedAs(item), locale) ?? item.price_id))];
  return new Intl.ListFormat(locale === 'zh' ? 'zh-Hans' : 'en').format(names);
}

/** The items whose apps the customer can download already. */
export const ownedItems = ({ items, buyer }: Order): LineItem[] =>
  items.filter((item) => {
    const price = pricedAs(item);
    return price.type === 'one_time' && buyer?.owned_apps.includes(price.product?.app_did ?? '');
  });

/** What the customer should know before the order is sent: a subscription that they have, a free trial that they had. */
export function BuyerNotices({ order }: { order: Order }) {
  const locale = useLocale();
  const { buyer, items } = order;
  if (!buyer) return null;
  const subscribed = buyer.subscriptions.map(({ id, product_id }) => ({
    id,
    name: namesOf(
      items.filter((item) => pricedAs(item).product?.id === product_id),
      locale,
    ),
  }));
  return (
    <>
      {subscribed.map(({ id, name }) => (
        <Alert key={id} severity="info" title={t('buyer.subscribed', { name })}>
          <p>
            <a href={pageAt(`/customer/subscription/${id}`)}>{t('buyer.manage')}</a>
          </p>
        </Alert>
      ))}
      {buyer.trial_used && (
        <Alert severity="info" title={t('buyer.trialUsed')}>
          <p>{t('buyer.trialUsedText')}</p>
        </Alert>
      )}
    </>
  );
}

/** Asks before an app is bought that the customer owns. */
export function BuyAgain({ order, onBuy, onClose }: { order: Order; onBuy: () => void; onClose: () => void }) {
  const locale = useLocale();
  const owned = ownedItems(order);
  const did = owned[0] && pricedAs(owned[0]).product?.app_did;
  return (
    <Dialog title={t('buyer.owned', { name: namesOf(owned, locale) })} closeLabel={t('action.close')} onClose={onClose}>
      <p>
        {t('buyer.ownedText')} <a href={pageAt(`/apps/${did}`)}>{t('buyer.toApp')}</a>
      </p>
      <div className="checkout-dialog-buttons">
        <Button variant="primary" wide onClick={onBuy}>
          {t('buyer.buyAgain')}
        </Button>
        <Button wide onClick={onClose} data-first>
          {t('action.cancel')}
        </Button>
      </div>
    </Dialog>
  );
}

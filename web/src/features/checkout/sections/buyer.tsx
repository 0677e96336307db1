import { useLocale } from '@/i18n/light';
import { Alert } from '@/kit/alert';
import { Button, ButtonLink } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import type { Order } from '../hooks/use-order';
import { effectivePrice, productName } from '../rules/price';
import { pageAt } from '../rules/view';
import { t } from '../text';
import type { LineItem } from '../types';

/** The names of items as one text. */
function namesOf(items: LineItem[], locale: string): string {
  const names = [...new Set(items.map((item) => productName(effectivePrice(item), locale) ?? item.price_id))];
  return new Intl.ListFormat(locale === 'zh' ? 'zh-Hans' : 'en').format(names);
}

/** The items whose apps the customer already owns. */
export const ownedItems = ({ items, buyer }: Order): LineItem[] =>
  items.filter((item) => {
    const price = effectivePrice(item);
    return price.type === 'one_time' && buyer?.owned_apps.includes(price.product?.app_did ?? '');
  });

/** Notices before the order: an existing subscription, or a used trial. */
export function BuyerNotices({ order }: { order: Order }) {
  const locale = useLocale();
  const { buyer, items } = order;
  if (!buyer) return null;
  const subscriptions = buyer.subscriptions.map(({ id, product_id }) => ({
    id,
    name: namesOf(
      items.filter((item) => effectivePrice(item).product?.id === product_id),
      locale,
    ),
  }));
  return (
    <>
      {subscriptions.map(({ id, name }) => (
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

/** Asks for confirmation before an owned app is bought again. */
export function BuyAgain({ order, onBuy, onClose }: { order: Order; onBuy: () => void; onClose: () => void }) {
  const locale = useLocale();
  const owned = ownedItems(order);
  const did = owned[0] && effectivePrice(owned[0]).product?.app_did;
  return (
    <Dialog title={t('buyer.owned', { name: namesOf(owned, locale) })} closeLabel={t('action.close')} onClose={onClose}>
      <p>{t('buyer.ownedText')}</p>
      <div className="checkout-dialog-buttons">
        <ButtonLink variant="primary" wide href={pageAt(`/apps/${did}`)}>
          {t('buyer.toApp')}
        </ButtonLink>
        <Button wide onClick={onBuy}>
          {t('buyer.buyAgain')}
        </Button>
        <Button variant="quiet" wide onClick={onClose} data-first>
          {t('action.cancel')}
        </Button>
      </div>
    </Dialog>
  );
}

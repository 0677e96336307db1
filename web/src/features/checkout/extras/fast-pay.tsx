import { useLocale } from '@/i18n/light';
import { Button } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { formatMoney } from '@/lib/amount';
import type { Order } from '../hooks/use-order';
import type { Payment } from '../hooks/use-payment';
import type { Currency, FastPayInfo } from '../wire';
import { Address } from './address';
import { t } from './text';

interface FastPayProps {
  info: FastPayInfo;
  currency: Currency;
  order: Order;
  payment: Payment;
}

/** Consent to pay by what was permitted before: how, how much and from where. */
export function FastPay({ info, currency, order, payment }: FastPayProps) {
  const locale = useLocale();
  const asking = payment.phase.name === 'fast' && payment.phase.asking;
  const amount = formatMoney(info.amount, currency, locale);
  return (
    <Dialog title={t('fast.title')} closeLabel={t('action.close')} onClose={payment.leaveFast} locked={asking}>
      <p>{t(`fast.by.${info.type}`)}</p>
      <dl className="extras-facts">
        <dt>{t('fast.for')}</dt>
        <dd>{order.payee}</dd>
        <dt>{t('fast.amount')}</dt>
        <dd className="money">{amount}</dd>
        <dt>{t('fast.type')}</dt>
        <dd>{t(`fast.type.${info.type}`)}</dd>
        <dt>{t('fast.payer')}</dt>
        <dd className="extras-did">
          <Address of={info.payer} />
        </dd>
      </dl>
      <div className="extras-buttons">
        <Button look="primary" wide busy={asking} onClick={payment.payFast} data-first>
          {asking ? t('fast.paying') : t('fast.confirm', { amount })}
        </Button>
        <Button wide disabled={asking} onClick={payment.leaveFast}>
          {t('action.cancel')}
        </Button>
      </div>
    </Dialog>
  );
}

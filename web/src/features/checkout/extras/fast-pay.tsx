import { useLocale } from '@/i18n/light';
import { Button } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { formatMoney } from '@/lib/amount';
import type { Payment } from '../hooks/use-payment';
import type { Currency, FastPayInfo } from '../types';
import { Address } from './address';
import { t } from './text';

interface FastPayProps {
  info: FastPayInfo;
  currency: Currency;
  storeName: string;
  recurring: boolean;
  payment: Payment;
}

/** Confirms a payment with an existing mandate or balance: method, amount and account. */
export function FastPay({ info, currency, storeName, recurring, payment }: FastPayProps) {
  const locale = useLocale();
  const isConfirming = payment.state.name === 'fastPayConfirmation' && payment.state.isConfirming;
  const amount = formatMoney(info.amount, currency, locale);
  return (
    <Dialog
      title={t('fast.title')}
      closeLabel={t('action.close')}
      onClose={payment.dismissFastPay}
      locked={isConfirming}
    >
      <p>{t(`fast.by.${info.type}`)}</p>
      <dl className="extras-facts">
        <dt>{t('fast.for')}</dt>
        <dd>{storeName}</dd>
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
        <Button variant="primary" wide loading={isConfirming} onClick={payment.confirmFastPay} data-first>
          {isConfirming ? t('fast.paying') : t(recurring ? 'fast.confirmSubscribe' : 'fast.confirm', { amount })}
        </Button>
        <Button wide disabled={isConfirming} onClick={payment.dismissFastPay}>
          {t('action.cancel')}
        </Button>
      </div>
    </Dialog>
  );
}

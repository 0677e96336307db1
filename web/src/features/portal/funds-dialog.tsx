import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { Subscription, SubscriptionFunds } from '@/api/types';
import { openConnect } from '@/features/connect';
import { spokenError } from '@/i18n/spoken';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { TextField } from '@/kit/field';
import { RadioCards } from '@/kit/radio-cards';
import { formatMoney, parseDecimal, toUnits } from '@/lib/amount';
import { type DialogProps, Failure } from './dialog-parts';
import styles from './dialogs.module.css';
import { amountFor, PRESETS } from './funds';
import { FundsText } from './funds-text';
import { fundsQuery } from './queries';
import { useTexts } from './texts';
import { amountFault } from './typed-amount';

const OTHER = 'other';

/** Money for the account that pays, from another account: of the customer, or of whoever does them the favour. */
export function FundsDialog({ subscription, onClose, onDone }: DialogProps) {
  const { t } = useTexts();
  const { data, error, refetch } = useQuery(fundsQuery(subscription));
  const [busy, setBusy] = useState(false);
  const add = (amount: string) => {
    setBusy(true);
    openConnect({
      action: 'recharge',
      title: t('funds.connectTitle'),
      failedTitle: t('funds.failed'),
      extraParams: { subscriptionId: subscription.id, amount },
      onSuccess: () => onDone(),
      onClose: () => setBusy(false),
    });
  };
  return (
    <Dialog title={t('funds.title')} closeLabel={t('action.close')} onClose={onClose} locked={busy}>
      {data ? (
        <FundsForm subscription={subscription} funds={data} busy={busy} onClose={onClose} onAdd={add} />
      ) : (
        <div className={styles.form}>
          {error ? (
            <>
              <Failure title={t('funds.error')} text={spokenError(error)} />
              <Button look="primary" onClick={() => void refetch()}>
                {t('action.retry')}
              </Button>
            </>
          ) : (
            <div className={styles.waiting} aria-busy="true" />
          )}
        </div>
      )}
    </Dialog>
  );
}

interface FundsFormProps {
  subscription: Subscription;
  funds: SubscriptionFunds;
  busy: boolean;
  onClose: () => void;
  onAdd: (amount: string) => void;
}

function FundsForm({ subscription, funds, busy, onClose, onAdd }: FundsFormProps) {
  const { t, language } = useTexts();
  const { paymentCurrency: currency } = subscription;
  const [choice, setChoice] = useState(String(PRESETS[0]));
  const [typed, setTyped] = useState('');
  const [checked, setChecked] = useState(false);
  const money = (amount: string) => formatMoney(amount, currency, language);
  // A price that has come to depend on usage leaves no periods to choose from.
  const own = choice === OTHER || funds.period_amount === null;
  const fault = own ? amountFault(typed, currency.decimal, toUnits(funds.maximum)) : null;
  const amount = own ? parseDecimal(typed, currency.decimal) : amountFor(Number(choice), funds);
  const most = { amount: money(funds.maximum) };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (fault) document.getElementById('funds-amount')?.focus();
    else if (amount) onAdd(amount);
  };
  return (
    <form className={styles.form} onSubmit={submit} noValidate>
      <p>{t('funds.text')}</p>
      <p className={styles.account}>
        <span className={styles.quiet}>{t('facts.account')}</span>
        <FundsText subscription={subscription} funds={funds} />
      </p>
      {subscription.status === 'past_due' ? (
        <Alert tone="info">
          <p>{t('funds.pastDue')}</p>
        </Alert>
      ) : null}
      {funds.period_amount === null ? null : (
        <RadioCards
          name="funds"
          legend={t('funds.amount')}
          cards={[
            ...PRESETS.map((periods) => ({
              value: String(periods),
              title: t('funds.periods', { count: periods }),
              aside: money(amountFor(periods, funds)),
            })),
            { value: OTHER, title: t('funds.other') },
          ]}
          value={choice}
          onChange={setChoice}
        />
      )}
      {own ? (
        <TextField
          id="funds-amount"
          name="amount"
          inputMode="decimal"
          autoComplete="off"
          label={t('funds.amountIn', { symbol: currency.symbol })}
          hint={t('funds.most', most)}
          error={checked && fault ? t(`funds.${fault}`, most) : undefined}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          required
        />
      ) : null}
      <div className={styles.buttons}>
        <Button onClick={onClose} disabled={busy}>
          {t('action.cancel')}
        </Button>
        <Button type="submit" look="primary" busy={busy}>
          {amount && !fault ? t('funds.actionFor', { amount: money(amount) }) : t('action.addFunds')}
        </Button>
      </div>
    </form>
  );
}

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Alert, Button, Descriptions } from 'antd';
import { api } from '@/api/client';
import type { PaymentMethodGas } from '@/api/types';
import { Copyable } from '@/app/copyable';
import { ErrorAlert } from '@/features/billing/dialog';
import styles from '@/features/billing/pages.module.css';
import { translateError } from '@/i18n/translate';
import { announce } from '@/kit/announce';
import { formatMoney } from '@/lib/amount';
import own from './method-gas.module.css';
import { methodCheckQuery } from './queries';
import { useTexts } from './texts';

const TYPES = { free: 'success', staked: 'success', ready_to_stake: 'warning', lacks_funds: 'warning' } as const;

interface MethodGasProps {
  id: string;
  gas: PaymentMethodGas;
  isChecking: boolean;
  onCheck: () => void;
}

/** What the network charges for transactions, what is missing so that nobody is charged, and how to stake. */
export function MethodGas({ id, gas, isChecking, onCheck }: MethodGasProps) {
  const { t, language } = useTexts();
  const money = (amount: string) => formatMoney(amount, gas, language);
  const lacksFunds = gas.status === 'lacks_funds';
  return (
    <>
      <Alert
        type={TYPES[gas.status]}
        showIcon
        title={t(`gas.${gas.status}`)}
        description={
          lacksFunds || gas.status === 'ready_to_stake' ? (
            <div className={own.steps}>
              <p>{t('gas.why', { cost: money(gas.cost) })}</p>
              {lacksFunds ? (
                <ol>
                  <li>
                    <span>{t('gas.send', { amount: money(gas.missing) })}</span>
                    <Copyable label={t('gas.account')} value={gas.account} />
                    <Button loading={isChecking} onClick={onCheck}>
                      {t('gas.check')}
                    </Button>
                  </li>
                  <li>{t('gas.then', { amount: money(gas.min_stake) })}</li>
                </ol>
              ) : (
                <StakeForGas id={id} amount={money(gas.min_stake)} />
              )}
            </div>
          ) : (
            t(gas.status === 'staked' ? 'gas.stakedText' : 'gas.freeText')
          )
        }
      />
      {gas.status === 'free' ? null : (
        <Descriptions
          className={`${styles.details} ${own.facts}`}
          column={{ xs: 1, sm: 2 }}
          layout="vertical"
          colon={false}
          items={[
            { key: 'cost', label: t('gas.cost'), children: money(gas.cost) },
            { key: 'staked', label: t('gas.stakedAmount'), children: money(gas.staked) },
            { key: 'minimum', label: t('gas.minimum'), children: money(gas.min_stake) },
            { key: 'balance', label: t('gas.balance'), children: money(gas.balance) },
          ]}
        />
      )}
    </>
  );
}

function StakeForGas({ id, amount }: { id: string; amount: string }) {
  const { t } = useTexts();
  const queryClient = useQueryClient();
  const stake = useMutation({
    mutationFn: () => api.post(`/api/payment-methods/${encodeURIComponent(id)}/stake-for-gas`),
    // The button is replaced, so the result is announced.
    onSuccess: () => announce(t('gas.staked')),
    onSettled: () => queryClient.invalidateQueries({ queryKey: methodCheckQuery(id).queryKey }),
  });
  return (
    <>
      <p>{t('gas.how', { amount })}</p>
      <div>
        <Button type="primary" loading={stake.isPending} onClick={() => stake.mutate()}>
          {t('gas.stake', { amount })}
        </Button>
      </div>
      {stake.isError ? <ErrorAlert title={t('gas.notStaked')} text={translateError(stake.error)} /> : null}
    </>
  );
}

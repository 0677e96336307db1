import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Alert, Button, Descriptions, Typography } from 'antd';
import { api } from '@/api/client';
import type { PaymentMethodGas } from '@/api/types';
import { ErrorAlert } from '@/features/billing/dialog';
import styles from '@/features/billing/pages.module.css';
import { translateError } from '@/i18n/translate';
import { formatMoney } from '@/lib/amount';
import own from './method-gas.module.css';
import { methodCheckQuery } from './queries';
import { useTexts } from './texts';

const TYPES = { free: 'success', staked: 'success', ready_to_stake: 'warning', lacks_funds: 'warning' } as const;

/** What the network charges for transactions, what is missing so that nobody is charged, and how to stake. */
export function MethodGas({ id, gas }: { id: string; gas: PaymentMethodGas }) {
  const { t, language } = useTexts();
  const queryClient = useQueryClient();
  const money = (amount: string) => formatMoney(amount, gas, language);
  const stake = useMutation({
    mutationFn: () => api.post(`/api/payment-methods/${encodeURIComponent(id)}/stake-for-gas`),
    onSettled: () => queryClient.invalidateQueries({ queryKey: methodCheckQuery(id).queryKey }),
  });
  const lacksStake = gas.status === 'ready_to_stake' || gas.status === 'lacks_funds';
  return (
    <>
      <Alert
        type={TYPES[gas.status]}
        showIcon
        title={t(`gas.${gas.status}`)}
        description={
          lacksStake ? (
            <div className={own.steps}>
              <span>{t('gas.why', { cost: money(gas.cost) })}</span>
              {gas.status === 'lacks_funds' ? (
                <div>
                  <p>{t('gas.send', { amount: money(gas.missing) })}</p>
                  <Typography.Text code copyable={{ text: gas.account }} className={own.address}>
                    {gas.account}
                  </Typography.Text>
                </div>
              ) : null}
              <span>{t('gas.how', { amount: money(gas.min_stake) })}</span>
              <div>
                <Button
                  type="primary"
                  disabled={gas.status !== 'ready_to_stake'}
                  loading={stake.isPending}
                  onClick={() => stake.mutate()}
                >
                  {t('gas.stake', { amount: money(gas.min_stake) })}
                </Button>
              </div>
            </div>
          ) : (
            t(gas.status === 'staked' ? 'gas.stakedText' : 'gas.freeText')
          )
        }
      />
      {stake.isError ? <ErrorAlert title={t('gas.notStaked')} text={translateError(stake.error)} /> : null}
      {gas.status === 'free' ? null : (
        <Descriptions
          className={styles.details}
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

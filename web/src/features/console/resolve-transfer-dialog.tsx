import { useMutation } from '@tanstack/react-query';
import { Button, Form } from 'antd';
import { api } from '@/api/client';
import type { HoldDecision, TransferOnHold, TransferResolution } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Dialog } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { OptionList } from '@/features/billing/option-list';
import { refreshAfterPayment } from '@/features/billing/refresh';
import { formatMoney, toUnits } from '@/lib/amount';
import { useTexts } from './texts';
import { type DecisionText, decisionText } from './transfer-decisions';
import { useIdempotencyKey } from './use-idempotency-key';

interface Values {
  /** Without one if only one decision is possible. */
  decision?: HoldDecision;
}

interface ResolveTransferDialogProps {
  transfer: TransferOnHold;
  onClose: () => void;
  /** With the text that says what became of the transfer. */
  onDone: (text: string) => void;
}

/** Decides about a transfer on hold. Nothing is preselected; a single possible decision is confirmed. */
export function ResolveTransferDialog({ transfer, onClose, onDone }: ResolveTransferDialogProps) {
  const { t, language } = useTexts();
  const [form] = Form.useForm<Values>();
  const keyOf = useIdempotencyKey();
  const { decisions } = transfer;
  const [only] = decisions.length === 1 ? decisions : [];
  const money = (units: bigint) => formatMoney(units.toString(), transfer.paymentCurrency, language);
  const [ordered, moved] = [toUnits(transfer.amount), toUnits(transfer.amount_moved)];
  const difference = ordered > moved ? ordered - moved : moved - ordered;
  const amounts = { moved: money(moved), difference: money(difference) };
  const text = ({ key }: DecisionText, part: 'title' | 'detail') => t(`heldTransfers.to.${key}.${part}`, amounts);
  const resolve = useMutation({
    mutationFn: (values: Values) => {
      const body = { decision: values.decision ?? only };
      const path = `/api/transfers/${encodeURIComponent(transfer.id)}/resolve`;
      return api.post<TransferResolution>(path, body, { idempotencyKey: keyOf(JSON.stringify(body)) });
    },
    onSuccess: async (resolution, values) => {
      await refreshAfterPayment();
      const excess = toUnits(resolution.amount_excess);
      const { done } = decisionText(transfer, values.decision ?? only ?? 'record');
      const recorded = t(`heldTransfers.done.${done}`, { ...amounts, difference: money(difference - excess) });
      onDone(excess > 0n ? `${recorded} ${t('heldTransfers.done.excess', { excess: money(excess) })}` : recorded);
    },
  });
  return (
    <Dialog
      title={t('heldTransfers.resolve.title')}
      isBusy={resolve.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={resolve.isPending}>
            {t('action.cancel')}
          </Button>
          <Button type="primary" htmlType="submit" form="resolveTransfer" loading={resolve.isPending}>
            {t('heldPayments.resolve.action')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <p>
          {t('heldTransfers.resolve.text', {
            type: t(`heldTransfers.type.${transfer.type}`),
            ordered: money(ordered),
            moved: money(moved),
          })}
        </p>
        {only ? <p>{text(decisionText(transfer, only), 'detail')}</p> : null}
        <CheckedForm<Values> name="resolveTransfer" form={form} onFinish={(values) => resolve.mutate(values)}>
          {only ? null : (
            <Form.Item<Values>
              name="decision"
              label={t('heldTransfers.resolve.choice')}
              rules={[rule<Values['decision']>(Boolean, t('heldTransfers.resolve.choiceMissing'))]}
            >
              <OptionList
                label={t('heldTransfers.resolve.choice')}
                options={decisions.map((value) => ({
                  value,
                  title: text(decisionText(transfer, value), 'title'),
                  detail: text(decisionText(transfer, value), 'detail'),
                }))}
              />
            </Form.Item>
          )}
        </CheckedForm>
        <ActionError title={t('heldTransfers.resolve.failed')} action={resolve} />
      </div>
    </Dialog>
  );
}

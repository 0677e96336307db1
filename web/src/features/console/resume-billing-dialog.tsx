import { useMutation } from '@tanstack/react-query';
import { Button, Form } from 'antd';
import { api } from '@/api/client';
import { Dialog, ErrorAlert } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { OptionList } from '@/features/billing/option-list';
import { translateError } from '@/i18n/translate';
import { dateText } from '@/lib/format';
import { useAdminTexts } from './admin-texts';

/** What happens to the periods that have begun without an invoice. */
const CHOICES = ['every_period', 'current_period', 'skip'] as const;

interface Values {
  mode?: (typeof CHOICES)[number];
}

interface ResumeBillingDialogProps {
  /** The subscription; without one, all that are on hold because of their unbilled periods. */
  id?: string;
  /** The number of unbilled periods of the subscription. */
  count?: number;
  /** When its next period begins, in unix seconds. */
  nextPeriod?: number | null;
  onClose: () => void;
  /** With the number of resumed subscriptions, if all were. */
  onDone: (resumed?: number) => void;
}

/** Resumes billing after the owner has decided about unbilled periods. Nothing is preselected. */
export function ResumeBillingDialog({ id, count = 0, nextPeriod, onClose, onDone }: ResumeBillingDialogProps) {
  const { t, language } = useAdminTexts();
  const path = id ? `/api/subscriptions/${encodeURIComponent(id)}/resume-billing` : '/api/subscriptions/resume-billing';
  const resume = useMutation({
    mutationFn: (values: Values) => api.put<{ resumed?: number } | null>(path, values),
    onSuccess: (answer) => onDone(answer?.resumed),
  });
  const detail = (value: (typeof CHOICES)[number]) =>
    value === 'skip' && nextPeriod
      ? t('unbilled.mode.skipUntil', { date: dateText(nextPeriod * 1000, language) })
      : t(`unbilled.mode.${value}Detail`);
  return (
    <Dialog
      title={t(id ? 'admin.resumeBilling' : 'unbilled.titleAll')}
      isBusy={resume.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={resume.isPending}>
            {t('unbilled.back')}
          </Button>
          <Button type="primary" htmlType="submit" form="resumeBilling" loading={resume.isPending}>
            {t('admin.resumeBilling')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <p>{t(id ? 'unbilled.text' : 'unbilled.textAll', { count })}</p>
        <p>{t('unbilled.clock')}</p>
        <CheckedForm<Values> name="resumeBilling" onFinish={(values) => resume.mutate(values)}>
          <Form.Item<Values>
            name="mode"
            label={t('unbilled.choice')}
            rules={[rule<Values['mode']>(Boolean, t('unbilled.choiceMissing'))]}
          >
            <OptionList
              label={t('unbilled.choice')}
              options={CHOICES.map((value) => ({
                value,
                title: t(`unbilled.mode.${value}`),
                detail: detail(value),
              }))}
            />
          </Form.Item>
        </CheckedForm>
        {resume.isError ? <ErrorAlert title={t('failed')} text={translateError(resume.error)} /> : null}
      </div>
    </Dialog>
  );
}

import {
  CheckCircleOutlined,
  ClockCircleOutlined,
  CloseCircleOutlined,
  ExclamationCircleOutlined,
  FileOutlined,
  StopOutlined,
} from '@ant-design/icons';
import type { ReactNode } from 'react';
import type { InvoiceStatus } from '@/api/types';
import { useTexts } from '@/app/i18n';
import styles from './status.module.css';

type Tone = 'ok' | 'warn' | 'danger' | 'quiet';

/** A state is a word with an icon; the colour only repeats it. */
function Badge({ tone, icon, children, title }: { tone: Tone; icon: ReactNode; children: string; title?: string }) {
  return (
    <span className={`${styles.badge} ${styles[tone]}`} title={title}>
      {icon}
      {children}
    </span>
  );
}

const INVOICES: Record<InvoiceStatus, [Tone, ReactNode]> = {
  draft: ['quiet', <FileOutlined key="i" aria-hidden="true" />],
  open: ['warn', <ClockCircleOutlined key="i" aria-hidden="true" />],
  paid: ['ok', <CheckCircleOutlined key="i" aria-hidden="true" />],
  void: ['quiet', <StopOutlined key="i" aria-hidden="true" />],
  uncollectible: ['danger', <ExclamationCircleOutlined key="i" aria-hidden="true" />],
};

export function InvoiceBadge({ status }: { status: InvoiceStatus }) {
  const { t } = useTexts();
  const [tone, icon] = INVOICES[status] ?? INVOICES.open;
  const hint = status === 'void' ? t('invoice.voidHint') : undefined;
  return (
    <>
      <Badge tone={tone} icon={icon} title={hint}>
        {t(`invoice.status.${status}`)}
      </Badge>
      {hint ? <span className="unseen">{hint}</span> : null}
    </>
  );
}

const PAYMENTS = {
  requires_payment_method: ['warn', <ExclamationCircleOutlined key="i" aria-hidden="true" />],
  requires_confirmation: ['warn', <ClockCircleOutlined key="i" aria-hidden="true" />],
  requires_action: ['warn', <ExclamationCircleOutlined key="i" aria-hidden="true" />],
  processing: ['quiet', <ClockCircleOutlined key="i" aria-hidden="true" />],
  requires_capture: ['quiet', <ClockCircleOutlined key="i" aria-hidden="true" />],
  canceled: ['quiet', <CloseCircleOutlined key="i" aria-hidden="true" />],
  succeeded: ['ok', <CheckCircleOutlined key="i" aria-hidden="true" />],
} as const satisfies Record<string, [Tone, ReactNode]>;

export function PaymentBadge({ status }: { status: string }) {
  const { t } = useTexts();
  if (!(status in PAYMENTS)) {
    return (
      <Badge tone="quiet" icon={null}>
        {status}
      </Badge>
    );
  }
  const known = status as keyof typeof PAYMENTS;
  const [tone, icon] = PAYMENTS[known];
  return (
    <Badge tone={tone} icon={icon}>
      {t(`intent.${known}`)}
    </Badge>
  );
}

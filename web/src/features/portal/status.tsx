import {
  CheckCircleOutlined,
  ClockCircleOutlined,
  CloseCircleOutlined,
  ExclamationCircleOutlined,
  FileOutlined,
  GiftOutlined,
  PauseCircleOutlined,
  StopOutlined,
} from '@ant-design/icons';
import type { ReactNode } from 'react';
import type { InvoiceStatus, Refund, Subscription } from '@/api/types';
import styles from './status.module.css';
import { isEnding } from './subscription-rules';
import { useTexts } from './texts';

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

const SUBSCRIPTIONS = {
  trialing: ['ok', <GiftOutlined key="i" aria-hidden="true" />],
  active: ['ok', <CheckCircleOutlined key="i" aria-hidden="true" />],
  past_due: ['danger', <ExclamationCircleOutlined key="i" aria-hidden="true" />],
  paused: ['quiet', <PauseCircleOutlined key="i" aria-hidden="true" />],
  canceled: ['quiet', <StopOutlined key="i" aria-hidden="true" />],
} as const satisfies Record<Subscription['status'], [Tone, ReactNode]>;

/** The state of a subscription; one whose end is set says so. */
export function SubscriptionBadge({ subscription }: { subscription: Subscription }) {
  const { t } = useTexts();
  const { status } = subscription;
  if ((status === 'active' || status === 'trialing') && isEnding(subscription)) {
    return (
      <Badge tone="warn" icon={<ClockCircleOutlined aria-hidden="true" />}>
        {t('subscription.status.ending')}
      </Badge>
    );
  }
  const [tone, icon] = SUBSCRIPTIONS[status] ?? SUBSCRIPTIONS.active;
  return (
    <Badge tone={tone} icon={icon}>
      {t(`subscription.status.${status}`)}
    </Badge>
  );
}

const REFUNDS = {
  pending: ['quiet', <ClockCircleOutlined key="i" aria-hidden="true" />],
  processing: ['quiet', <ClockCircleOutlined key="i" aria-hidden="true" />],
  requires_action: ['warn', <ExclamationCircleOutlined key="i" aria-hidden="true" />],
  failed: ['danger', <CloseCircleOutlined key="i" aria-hidden="true" />],
  canceled: ['quiet', <StopOutlined key="i" aria-hidden="true" />],
  succeeded: ['ok', <CheckCircleOutlined key="i" aria-hidden="true" />],
} as const satisfies Record<Refund['status'], [Tone, ReactNode]>;

export function RefundBadge({ status }: { status: Refund['status'] }) {
  const { t } = useTexts();
  const [tone, icon] = REFUNDS[status] ?? REFUNDS.pending;
  return (
    <Badge tone={tone} icon={icon}>
      {t(`refund.status.${status}`)}
    </Badge>
  );
}

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
import { Tag, Tooltip } from 'antd';
import type { ReactNode } from 'react';
import type { InvoiceStatus, PaymentIntent, Refund, Subscription } from '@/api/types';
import { paymentState } from './payment-state';
import { isEnding } from './subscription-rules';
import { useTexts } from './texts';

type Severity = 'success' | 'warning' | 'error' | 'default';
type Mark = [severity: Severity, icon: ReactNode];

const clock = <ClockCircleOutlined aria-hidden="true" />;
const check = <CheckCircleOutlined aria-hidden="true" />;
const attention = <ExclamationCircleOutlined aria-hidden="true" />;
const stop = <StopOutlined aria-hidden="true" />;
const cross = <CloseCircleOutlined aria-hidden="true" />;

/** A state is a word with an icon; the colour only repeats it. */
function StatusTag({ mark: [severity, icon], children }: { mark: Mark; children: string }) {
  return (
    <Tag color={severity} icon={icon} variant="filled">
      {children}
    </Tag>
  );
}

const INVOICES: Record<InvoiceStatus, Mark> = {
  draft: ['default', <FileOutlined key="draft" aria-hidden="true" />],
  open: ['warning', clock],
  paid: ['success', check],
  void: ['default', stop],
  uncollectible: ['error', attention],
};

export function InvoiceTag({ status }: { status: InvoiceStatus }) {
  const { t } = useTexts();
  const tag = <StatusTag mark={INVOICES[status] ?? INVOICES.open}>{t(`invoice.status.${status}`)}</StatusTag>;
  if (status !== 'void') return tag;
  return (
    <Tooltip title={t('invoice.voidHint')}>
      <span>
        {tag}
        <span className="sr-only">{t('invoice.voidHint')}</span>
      </span>
    </Tooltip>
  );
}

const PAYMENTS: Record<ReturnType<typeof paymentState>, Mark> = {
  requires_payment_method: ['warning', attention],
  requires_confirmation: ['warning', clock],
  requires_action: ['warning', attention],
  processing: ['default', clock],
  requires_capture: ['default', clock],
  canceled: ['default', cross],
  succeeded: ['success', check],
  failed: ['default', cross],
};

export function PaymentTag({ payment }: { payment: PaymentIntent }) {
  const { t } = useTexts();
  const state = paymentState(payment);
  return <StatusTag mark={PAYMENTS[state]}>{t(`intent.${state}`)}</StatusTag>;
}

const SUBSCRIPTIONS: Record<Subscription['status'], Mark> = {
  trialing: ['success', <GiftOutlined key="trialing" aria-hidden="true" />],
  active: ['success', check],
  past_due: ['error', attention],
  paused: ['default', <PauseCircleOutlined key="paused" aria-hidden="true" />],
  canceled: ['default', stop],
};

/** The state of a subscription, with a second tag when its end is set. */
export function SubscriptionTag({ subscription }: { subscription: Subscription }) {
  const { t } = useTexts();
  const { status } = subscription;
  const ending = isEnding(subscription);
  const replaced = ending && (status === 'active' || status === 'trialing');
  return (
    <span>
      {replaced ? null : (
        <StatusTag mark={SUBSCRIPTIONS[status] ?? SUBSCRIPTIONS.active}>{t(`subscription.status.${status}`)}</StatusTag>
      )}
      {ending ? <StatusTag mark={['warning', clock]}>{t('subscription.status.ending')}</StatusTag> : null}
    </span>
  );
}

const REFUNDS: Record<Refund['status'], Mark> = {
  pending: ['default', clock],
  processing: ['default', clock],
  requires_action: ['warning', attention],
  failed: ['error', cross],
  canceled: ['default', stop],
  succeeded: ['success', check],
};

export function RefundTag({ status }: { status: Refund['status'] }) {
  const { t } = useTexts();
  return <StatusTag mark={REFUNDS[status] ?? REFUNDS.pending}>{t(`refund.status.${status}`)}</StatusTag>;
}

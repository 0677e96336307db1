import {
  CheckCircleOutlined,
  ClockCircleOutlined,
  CloseCircleOutlined,
  ExclamationCircleOutlined,
  FileOutlined,
  GiftOutlined,
  PauseCircleOutlined,
  StopOutlined,
  UndoOutlined,
  WalletOutlined,
} from '@ant-design/icons';
import { Flex, Tag, Tooltip } from 'antd';
import type { ReactNode } from 'react';
import type {
  DisputeStatus,
  Entitlement,
  Invoice,
  InvoiceStatus,
  PaymentIntent,
  Refund,
  Subscription,
} from '@/api/types';
import { refundState } from './invoice-text';
import { paymentState } from './payment-state';
import { isEnding } from './subscription-rules';
import { useTexts } from './texts';

type Severity = 'success' | 'warning' | 'error' | 'default';
type TagStyle = [severity: Severity, icon: ReactNode];

const clock = <ClockCircleOutlined aria-hidden="true" />;
const check = <CheckCircleOutlined aria-hidden="true" />;
const attention = <ExclamationCircleOutlined aria-hidden="true" />;
const stop = <StopOutlined aria-hidden="true" />;
const cross = <CloseCircleOutlined aria-hidden="true" />;
const undo = <UndoOutlined aria-hidden="true" />;

/** A status tag has a text and an icon; the color only repeats them. */
function StatusTag({ tagStyle: [severity, icon], children }: { tagStyle: TagStyle; children: string }) {
  return (
    <Tag color={severity} icon={icon} variant="filled">
      {children}
    </Tag>
  );
}

const INVOICES: Record<InvoiceStatus, TagStyle> = {
  draft: ['default', <FileOutlined key="draft" aria-hidden="true" />],
  open: ['warning', clock],
  paid: ['success', check],
  void: ['default', stop],
  uncollectible: ['error', attention],
};

export function InvoiceTag({ status }: { status: InvoiceStatus }) {
  const { t } = useTexts();
  const tag = <StatusTag tagStyle={INVOICES[status] ?? INVOICES.open}>{t(`invoice.status.${status}`)}</StatusTag>;
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

interface InvoiceTagsProps {
  invoice: Parameters<typeof refundState>[0] & Pick<Invoice, 'status' | 'billing_reason'>;
}

const INVOICE_REFUNDS: Record<NonNullable<ReturnType<typeof refundState>>, TagStyle> = {
  failed: ['error', cross],
  pending: ['default', clock],
  full: ['default', undo],
  partial: ['default', undo],
};

/** Invoices about a deposit that was returned or used: nobody has paid them. */
const DEPOSIT_TAGS: Record<string, { status: 'returned' | 'used'; style: TagStyle }> = {
  return_stake: { status: 'returned', style: ['default', undo] },
  slash_stake: { status: 'used', style: ['default', check] },
};

/** The state of an invoice, with a second tag after a refund. */
export function InvoiceTags({ invoice }: InvoiceTagsProps) {
  const { t } = useTexts();
  const refund = refundState(invoice);
  const deposit = invoice.status === 'paid' ? DEPOSIT_TAGS[invoice.billing_reason] : undefined;
  return (
    <Flex component="span" gap={4} wrap>
      {deposit ? (
        <StatusTag tagStyle={deposit.style}>{t(`invoice.status.${deposit.status}`)}</StatusTag>
      ) : (
        <InvoiceTag status={invoice.status} />
      )}
      {refund ? <StatusTag tagStyle={INVOICE_REFUNDS[refund]}>{t(`invoice.refund.${refund}`)}</StatusTag> : null}
    </Flex>
  );
}

const PAYMENTS: Record<ReturnType<typeof paymentState>, TagStyle> = {
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
  return <StatusTag tagStyle={PAYMENTS[state]}>{t(`intent.${state}`)}</StatusTag>;
}

const SUBSCRIPTIONS: Record<Subscription['status'], TagStyle> = {
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
    <Flex component="span" gap={4} wrap>
      {replaced ? null : (
        <StatusTag tagStyle={SUBSCRIPTIONS[status] ?? SUBSCRIPTIONS.active}>
          {t(`subscription.status.${status}`)}
        </StatusTag>
      )}
      {ending ? <StatusTag tagStyle={['warning', clock]}>{t('subscription.status.ending')}</StatusTag> : null}
    </Flex>
  );
}

const REFUNDS: Record<Refund['status'], TagStyle> = {
  pending: ['default', clock],
  failed: ['error', cross],
  canceled: ['default', <WalletOutlined key="canceled" aria-hidden="true" />],
  succeeded: ['success', check],
};

export function RefundTag({ status }: { status: Refund['status'] }) {
  const { t } = useTexts();
  return <StatusTag tagStyle={REFUNDS[status] ?? REFUNDS.pending}>{t(`refund.status.${status}`)}</StatusTag>;
}

const DISPUTES: Record<DisputeStatus, TagStyle> = {
  inquiry: ['warning', attention],
  inquiry_under_review: ['default', clock],
  inquiry_closed: ['default', check],
  needs_response: ['error', attention],
  under_review: ['warning', clock],
  won: ['success', check],
  lost: ['default', cross],
};

export function DisputeTag({ status }: { status: DisputeStatus }) {
  const { t } = useTexts();
  return <StatusTag tagStyle={DISPUTES[status] ?? DISPUTES.under_review}>{t(`dispute.status.${status}`)}</StatusTag>;
}

const ENTITLEMENTS: Record<Exclude<Entitlement['status'], 'active'>, TagStyle> = {
  revoked: ['default', undo],
  suspended: ['warning', attention],
};

/** Why an entitlement is not active; an active one needs no tag. */
export function EntitlementTag({ status }: Pick<Entitlement, 'status'>) {
  const { t } = useTexts();
  if (status === 'active') return null;
  return <StatusTag tagStyle={ENTITLEMENTS[status]}>{t(`entitlement.${status}`)}</StatusTag>;
}

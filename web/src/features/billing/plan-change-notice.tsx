import type { Subscription } from '@/api/types';
import { declineText } from '@/i18n/error-messages';
import { Note } from './dialog';
import { type Key, useTexts } from './texts';

const REASONS: Record<string, Key> = {
  delegation_declined: 'planChange.delegationDeclined',
  deposit_declined: 'planChange.depositDeclined',
  preview_changed: 'planChange.previewChanged',
  not_available: 'planChange.notAvailable',
};

/** Says that an ordered plan change waits for the network, or why it did not take place. Renders nothing without one. */
export function PlanChangeNotice({ subscription }: { subscription: Subscription }) {
  const { t, language } = useTexts();
  const change = subscription.pending_plan_change;
  if (!change) return null;
  if (change.status === 'waiting')
    return <Note type="info" title={t('planChange.waiting')} description={t('planChange.waitingText')} />;
  const reason = t(REASONS[change.reason ?? ''] ?? 'planChange.notAvailable');
  const decline = change.decline_code ? declineText(change.decline_code, false, language) : '';
  const sentences = [reason, decline, t('planChange.returned')].filter(Boolean);
  return (
    <Note type="warning" title={t('planChange.failed')} description={sentences.join(language === 'zh' ? '' : ' ')} />
  );
}

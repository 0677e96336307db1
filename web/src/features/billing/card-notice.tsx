import type { ReactNode } from 'react';
import type { Subscription } from '@/api/types';
import { dateText, monthText } from '@/lib/format';
import { Note } from './dialog';
import { subscriptionName } from './price-text';
import { mandateText } from './subscription-details';
import { cardProblem, timeOf } from './subscription-rules';
import { useTexts } from './texts';

interface CardNoticeProps {
  subscription: Subscription;
  /** The reader: the customer, an administrator, or the holder of an email link. */
  reader: 'customer' | 'store' | 'link';
  /** The action that changes the card, for readers who may do that. */
  children?: ReactNode;
}

/** Warns that a card has expired or will expire before the next payment. Renders nothing for a valid card. */
export function CardNotice({ subscription, reader, children }: CardNoticeProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const problem = cardProblem(subscription, timeOf(subscription));
  const { mandate, next_invoice: next, current_period_end: periodEnd } = subscription;
  if (!problem || !mandate?.exp_year || !mandate.exp_month) return null;
  const values = {
    card: mandateText(subscription, texts),
    month: monthText(mandate.exp_year, mandate.exp_month, language),
    date: dateText((next?.at ?? periodEnd) * 1000, language),
  };
  const gap = language === 'zh' ? '' : ' ';
  return (
    <Note
      type={problem === 'expired' ? 'error' : 'warning'}
      title={t(`cardOut.${problem}`, { name: subscriptionName(subscription, texts) })}
      description={`${t(`cardOut.${problem}Text`, values)}${gap}${t(`cardOut.advice.${reader}`)}`}
      action={children}
    />
  );
}

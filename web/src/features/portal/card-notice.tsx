import type { ReactNode } from 'react';
import type { Subscription } from '@/api/types';
import { Alert } from '@/kit/alert';
import { dayText, monthText } from '@/lib/format';
import { subscriptionName } from './price-text';
import { mandateText } from './subscription-facts';
import { cardTrouble, timeOf } from './subscription-rules';
import { useTexts } from './texts';

interface CardNoticeProps {
  subscription: Subscription;
  /** Who reads it: its customer, somebody who runs the store, or whoever holds the link of a mail. */
  reader: 'customer' | 'store' | 'link';
  /** The way to another card, for whoever may change it. */
  children?: ReactNode;
}

/** Says that the card is not good for as long as it is needed; nothing where it is, or where no card pays. */
export function CardNotice({ subscription, reader, children }: CardNoticeProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const trouble = cardTrouble(subscription, timeOf(subscription));
  const { mandate, next_invoice: next, current_period_end: periodEnd } = subscription;
  if (!trouble || !mandate?.exp_year || !mandate.exp_month) return null;
  const values = {
    card: mandateText(subscription, texts),
    month: monthText(mandate.exp_year, mandate.exp_month, language),
    date: dayText((next?.at ?? periodEnd) * 1000, language),
  };
  return (
    <Alert
      tone={trouble === 'expired' ? 'danger' : 'warn'}
      title={t(`cardOut.${trouble}`, { name: subscriptionName(subscription, texts) })}
    >
      <p>
        {t(`cardOut.${trouble}Text`, values)} {t(`cardOut.advice.${reader}`)}
      </p>
      {children ? <p>{children}</p> : null}
    </Alert>
  );
}

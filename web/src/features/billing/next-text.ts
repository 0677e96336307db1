import type { Subscription } from '@/api/types';
import { formatMoney, toUnits } from '@/lib/amount';
import { eventDate } from './event-date';
import { planText } from './price-text';
import { nextEvent, timeline, timeOf } from './subscription-rules';
import type { Texts } from './texts';

/** The next event in one sentence: "Renews on Dec 20, 2026 for 5 SKT". */
export function nextText(subscription: Subscription, texts: Texts): string {
  const { t, language } = texts;
  const { status, past_due_since: since, next_invoice: next, paymentCurrency: currency } = subscription;
  const day = (at: number) => eventDate(at, subscription, language);
  const event = nextEvent(timeline(subscription, timeOf(subscription)));
  const end = event?.name === 'willEnd' ? day(event.at) : null;
  if (status === 'past_due' && since !== null) {
    const date = day(since);
    return end ? t('next.pastDueEnds', { date, end }) : t('next.pastDue', { date });
  }
  if (status === 'paused') return end ? t('next.pausedEnds', { end }) : t('next.paused');
  if (!event) return '';
  const date = day(event.at);
  if (event.name === 'willEnd') return t('next.willEnd', { date });
  if (event.name === 'ended') return t('next.ended', { date });
  if (!event.coming) return '';
  const amount = next ? formatMoney(next.total, currency, language) : '';
  if (event.name === 'trialEnds')
    return next
      ? t('next.trialEnds', { date, amount: planText(subscription, texts) })
      : t('next.trialEndsOn', { date });
  const fromBalance = next ? balancePart(next) : 0n;
  if (next?.amount === '0' && fromBalance > 0n) return t('next.renewsByBalance', { date, amount });
  if (fromBalance > 0n) {
    const balance = formatMoney(fromBalance.toString(), currency, language);
    return t('next.renewsFromBalance', { date, amount, balance });
  }
  return amount ? t('next.renews', { date, amount }) : t('next.renewsOn', { date });
}

/** What the account balance pays of the next invoice, in base units. */
export function balancePart({ total, amount }: NonNullable<Subscription['next_invoice']>): bigint {
  return toUnits(total) - toUnits(amount);
}

import type { PricingFormula } from '@/api/types';
import { toUnits } from '@/lib/amount';
import type { Texts as PortalTexts } from './texts';

type Texts = Pick<PortalTexts, 't'>;
type Money = (units: string) => string;

/** Formats the formula of an amount for the customer: `3 × 1.5 SKT`, `10 SKT × 12/30 days`. */
export function formulaText(formula: PricingFormula, { t }: Texts, money: Money): string {
  switch (formula.kind) {
    case 'per_unit':
      return times(formula.quantity, money(formula.unit_amount));
    case 'tiered':
      return tiersText(formula, money);
    case 'custom':
      return t('formula.custom', { amount: money(formula.amount) });
    case 'flat':
      return money(formula.amount);
    case 'prorated': {
      const share = shareText(formula, { t }, money);
      return formula.rounded_up ? t('formula.roundedUp', { share }) : share;
    }
    case 'stake':
      return depositText(formula, { t }, money);
    case 'rest':
      return t('formula.rest', { whole: formulaText(formula.whole, { t }, money), billed: money(formula.billed) });
  }
}

type Of<Kind> = Extract<PricingFormula, { kind: Kind }>;

const times = (quantity: number, amount: string) => `${quantity} × ${amount}`;

/** `5 × 10 SKT + 100 SKT + 1 × 8 SKT`. */
function tiersText({ charges }: Of<'tiered'>, money: Money): string {
  const parts = charges.flatMap(({ quantity, unit_amount: unit, flat_amount: flat }) => [
    times(quantity, money(unit)),
    ...(toUnits(flat) > 0n ? [money(flat)] : []),
  ]);
  return parts.join(' + ') || money('0');
}

function depositText({ threshold, minimum, recurring }: Of<'stake'>, { t }: Texts, money: Money): string {
  const required = toUnits(threshold) > toUnits(minimum) ? threshold : minimum;
  return toUnits(required) > 0n
    ? t('formula.deposit', { amount: money(required) })
    : t('formula.onePeriod', { amount: money(recurring) });
}

/** The units of time in seconds, the longest one first. */
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

function shareText({ whole, seconds, of_seconds: of }: Of<'prorated'>, { t }: Texts, money: Money): string {
  const amount = money(whole);
  // Periods of less than a second are not prorated.
  if (of === 0) return amount;
  const charged = Math.min(seconds, of);
  // The longest unit that divides both.
  const [unit, length] = UNITS.find(([, each]) => charged % each === 0 && of % each === 0) ?? UNITS[3];
  return unit === 'second'
    ? t('formula.shareOf', { amount, part: durationText(charged, { t }), whole: durationText(of, { t }) })
    : t('formula.share', { amount, part: charged / length, whole: t(`duration.${unit}`, { count: of / length }) });
}

/** `12 days 3 hours 5 seconds`. */
function durationText(seconds: number, { t }: Texts): string {
  let rest = seconds;
  const parts: string[] = [];
  for (const [unit, length] of UNITS) {
    const count = Math.floor(rest / length);
    rest %= length;
    if (count > 0) parts.push(t(`duration.${unit}`, { count }));
  }
  return parts.join(' ') || t('duration.second', { count: 0 });
}

import { useEffect, useRef, useState } from 'react';
import { useLocale } from '@/i18n/light';
import { controlProps, FieldFrame } from '@/kit/field';
import { afterPointerUp } from '@/kit/pointer';
import { formatAmount, formatMoney } from '@/lib/amount';
import { repeated } from '../calls';
import { readAmount } from '../rules/custom';
import type { CustomUnitAmount } from '../wire';
import { setAmount } from './calls';
import type { ItemExtrasProps } from './item-extras';
import { t } from './text';

const SETTLE_MS = 300;
const LOST_CHANGES = 2;

/** An amount that the buyer chooses: presets as buttons, and a box for any other. */
export function CustomAmount({
  item,
  order,
  currency,
  sessionId,
  custom,
}: ItemExtrasProps & { custom: CustomUnitAmount }) {
  const locale = useLocale();
  const presets = custom.presets ?? [];
  const [first] = useState(() => item.custom_amount ?? custom.preset ?? presets[0] ?? null);
  const [text, setText] = useState(() => (first ? formatAmount(first, currency.decimal) : ''));
  const [error, setError] = useState<string | undefined>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const sent = useRef(item.custom_amount ?? null);
  const id = `amount-${item.price_id}`;
  /** What stands in the box, null where it is no amount: only the answer to that says whether it can be paid. */
  const wanted = useRef(first);
  const { block, amend } = order;

  const send = async (amount: string) => {
    if (amount === sent.current) return block(false);
    sent.current = amount;
    const refusal = await amend(() =>
      repeated(() => setAmount(sessionId, item.price_id, amount, currency.id), LOST_CHANGES),
    );
    if (refusal && sent.current === amount) sent.current = null;
    if (wanted.current !== amount) return;
    setError(refusal ?? undefined);
    block(Boolean(refusal));
  };
  const latest = useRef(send);
  latest.current = send;

  // The amount that stands there is the one that is paid: also when the currency has just been changed.
  useEffect(() => {
    if (first) latest.current(first);
    else block(true);
    return () => {
      clearTimeout(timer.current);
      block(false);
    };
  }, [first, block]);

  const change = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    const read = readAmount(next, custom, currency, locale);
    wanted.current = 'amount' in read ? read.amount : null;
    block(true);
    if ('fault' in read) {
      // Somebody is still typing; what is wrong is said when the box is left.
      if (error) setError(faultText(read));
      return;
    }
    setError(undefined);
    timer.current = setTimeout(() => latest.current(read.amount), SETTLE_MS);
  };
  const leave = () => {
    const read = readAmount(text, custom, currency, locale);
    if ('fault' in read) afterPointerUp(() => setError(faultText(read)));
  };
  const typed = readAmount(text, custom, currency, locale);
  const chosen = 'amount' in typed ? typed.amount : null;

  return (
    <div className="extras-amount">
      {presets.length > 0 && (
        <fieldset className="extras-presets" disabled={order.locked}>
          <legend className="sr-only">{t('amount.presets')}</legend>
          {presets.map((preset) => (
            <button
              key={preset}
              type="button"
              className="k-button k-button-secondary"
              aria-pressed={preset === chosen}
              onClick={() => change(formatAmount(preset, currency.decimal))}
            >
              {formatMoney(preset, currency, locale)}
            </button>
          ))}
        </fieldset>
      )}
      <FieldFrame id={id} label={t('amount.label', { symbol: currency.symbol })} error={error}>
        <input
          {...controlProps({ id, error })}
          name="amount"
          className="k-input figures"
          inputMode="decimal"
          autoComplete="off"
          enterKeyHint="done"
          disabled={order.locked}
          value={text}
          onChange={(event) => change(event.target.value)}
          onBlur={leave}
          onKeyDown={(event) => event.key === 'Enter' && leave()}
        />
      </FieldFrame>
    </div>
  );
}

const faultText = ({ fault }: Extract<ReturnType<typeof readAmount>, { fault: unknown }>) =>
  t(fault.key, 'values' in fault ? fault.values : undefined);

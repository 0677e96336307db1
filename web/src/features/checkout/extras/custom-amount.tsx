import { useEffect, useRef, useState } from 'react';
import { useLocale } from '@/i18n/light';
import { controlProps, FieldFrame } from '@/kit/field';
import { afterPointerUp } from '@/kit/pointer';
import { formatAmount, formatMoney } from '@/lib/amount';
import { withRetries } from '../calls';
import { parseAmount } from '../rules/custom';
import type { CustomUnitAmount } from '../types';
import { setAmount } from './calls';
import type { ItemExtrasProps } from './item-extras';
import { t } from './text';

const DEBOUNCE_MS = 300;
const CHANGE_RETRIES = 2;

/** An amount chosen by the buyer: preset buttons and a text field. */
export function CustomAmount({
  item,
  order,
  currency,
  sessionId,
  custom,
}: ItemExtrasProps & { custom: CustomUnitAmount }) {
  const locale = useLocale();
  const presets = custom.presets ?? [];
  const [initial] = useState(() => item.custom_amount ?? custom.preset ?? presets[0] ?? null);
  const [text, setText] = useState(() => (initial ? formatAmount(initial, currency.decimal) : ''));
  const [error, setError] = useState<string | undefined>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const lastSent = useRef(item.custom_amount ?? null);
  const id = `amount-${item.price_id}`;
  /** The latest valid amount of the field, null if invalid; responses to older amounts are ignored. */
  const latestAmount = useRef(initial);
  const { block, updateItems } = order;

  const send = async (amount: string) => {
    if (amount === lastSent.current) return block(false);
    lastSent.current = amount;
    const message = await updateItems(() =>
      withRetries(() => setAmount(sessionId, item.price_id, amount, currency.id), CHANGE_RETRIES),
    );
    if (message && lastSent.current === amount) lastSent.current = null;
    if (latestAmount.current !== amount) return;
    setError(message ?? undefined);
    block(Boolean(message));
  };
  const sendRef = useRef(send);
  sendRef.current = send;

  // Sends the shown amount at first render, and again after a change of currency.
  useEffect(() => {
    if (initial) sendRef.current(initial);
    else block(true);
    return () => {
      clearTimeout(timer.current);
      block(false);
    };
  }, [initial, block]);

  const change = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    const parsed = parseAmount(next, custom, currency, locale);
    latestAmount.current = 'amount' in parsed ? parsed.amount : null;
    block(true);
    if ('error' in parsed) {
      // New errors appear on blur, not while typing.
      if (error) setError(errorText(parsed));
      return;
    }
    setError(undefined);
    timer.current = setTimeout(() => sendRef.current(parsed.amount), DEBOUNCE_MS);
  };
  const validate = () => {
    const parsed = parseAmount(text, custom, currency, locale);
    if ('error' in parsed) afterPointerUp(() => setError(errorText(parsed)));
  };
  const parsedText = parseAmount(text, custom, currency, locale);
  const selected = 'amount' in parsedText ? parsedText.amount : null;

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
              aria-pressed={preset === selected}
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
          onBlur={validate}
          onKeyDown={(event) => event.key === 'Enter' && validate()}
        />
      </FieldFrame>
    </div>
  );
}

const errorText = ({ error }: Extract<ReturnType<typeof parseAmount>, { error: unknown }>) =>
  t(error.key, 'values' in error ? error.values : undefined);

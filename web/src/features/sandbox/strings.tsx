import { useEffect, useState } from 'react';
import { formatMoney } from '@/lib/amount';
import { locale } from '@/lib/locale';
import { shortAddress } from './accounts';
import { tokenState } from './ledger';
import type { TokenAmount } from './transaction';

/** Placeholder for an amount whose token is still loading. */
export const LOADING_AMOUNT = '…';

/** Formats token amounts; a token that the ledger does not know is shown by its address. */
export function useAmounts(tokens: TokenAmount[], separator = ' + '): string {
  const [units, setUnits] = useState<Record<string, { symbol: string; decimal: number } | 'unknown'>>({});
  const addresses = tokens.map((token) => token.address).join(',');
  useEffect(() => {
    for (const address of addresses.split(',').filter(Boolean)) {
      tokenState(address).then(
        (unit) => setUnits((all) => ({ ...all, [address]: unit })),
        () => setUnits((all) => ({ ...all, [address]: 'unknown' })),
      );
    }
  }, [addresses]);
  return tokens
    .map(({ address, value }) => {
      const unit = units[address];
      if (!unit) return LOADING_AMOUNT;
      return unit === 'unknown' ? `${value} × ${shortAddress(address)}` : formatMoney(value, unit, locale());
    })
    .join(separator);
}

/** The request in one sentence, and the store's description of it. */
export function Lead({ text, note }: { text: string; note?: string }) {
  return (
    <div>
      <p className="wallet-lead">{text}</p>
      {note && <p className="k-hint">{note}</p>}
    </div>
  );
}

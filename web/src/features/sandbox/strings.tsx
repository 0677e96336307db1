import { useEffect, useState } from 'react';
import { formatMoney } from '@/lib/amount';
import { locale } from '@/lib/locale';
import { short } from './accounts';
import { tokenState } from './ledger';
import type { TokenAmount } from './transaction';

/** Stands for an amount whose token is not known yet. */
export const UNREAD = '…';

/** Amounts in the words of their token; where nobody knows how it is called, with its address. */
export function useAmounts(tokens: TokenAmount[], joint = ' + '): string {
  const [units, setUnits] = useState<Record<string, { symbol: string; decimal: number } | 'unknown'>>({});
  const wanted = tokens.map((token) => token.address).join(',');
  useEffect(() => {
    for (const address of wanted.split(',').filter(Boolean)) {
      tokenState(address).then(
        (unit) => setUnits((all) => ({ ...all, [address]: unit })),
        () => setUnits((all) => ({ ...all, [address]: 'unknown' })),
      );
    }
  }, [wanted]);
  return tokens
    .map(({ address, value }) => {
      const unit = units[address];
      if (!unit) return UNREAD;
      return unit === 'unknown' ? `${value} × ${short(address)}` : formatMoney(value, unit, locale());
    })
    .join(joint);
}

/** What is asked in one sentence, and what the store says about it. */
export function Lead({ text, note }: { text: string; note?: string }) {
  return (
    <div>
      <p className="wallet-lead">{text}</p>
      {note && <p className="k-hint">{note}</p>}
    </div>
  );
}

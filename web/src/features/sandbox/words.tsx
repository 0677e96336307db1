import { useEffect, useState } from 'react';
import { formatMoney } from '@/lib/amount';
import { locale } from '@/lib/locale';
import { short } from './accounts';
import { tokenState } from './ledger';
import type { TokenAmount } from './transaction';

/** Amounts in the words of their token; the token's own address while its name is being read. */
export function useAmounts(tokens: TokenAmount[], joint = ' + '): string {
  const [units, setUnits] = useState<Record<string, { symbol: string; decimal: number }>>({});
  const wanted = tokens.map((token) => token.address).join(',');
  useEffect(() => {
    for (const address of wanted.split(',').filter(Boolean)) {
      tokenState(address).then(
        (unit) => setUnits((all) => ({ ...all, [address]: unit })),
        () => undefined,
      );
    }
  }, [wanted]);
  return tokens
    .map(({ address, value }) => {
      const unit = units[address];
      return unit ? formatMoney(value, unit, locale()) : `${value} × ${short(address)}`;
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

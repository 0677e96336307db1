import { formatRounded, parseDecimal } from '@/lib/amount';

/** Groups the thousands of a decimal: `10,000` for `10000`. An invalid one counts as zero. */
export const groupDecimal = (text: string): string => formatRounded(parseDecimal(text, 18) ?? '0');

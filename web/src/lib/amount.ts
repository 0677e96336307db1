/**
 * Amounts are strings of base units ("5000000000000000000"), computed as BigInt. A float is exact only up to 0.009 of
 * an 18-decimal token.
 */

const BASE_UNITS = /^-?\d+$/;

/** Parses base units from the API. Anything but a decimal integer counts as zero. */
export function toUnits(amount: string | null | undefined): bigint {
  return amount && BASE_UNITS.test(amount) ? BigInt(amount) : 0n;
}

/** The exact decimal amount: no separators, no rounding, no trailing zeros. */
export function formatAmount(amount: string, decimals: number): string {
  const units = toUnits(amount);
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = decimals === 0 ? '' : digits.slice(-decimals).replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${whole}${fraction ? `.${fraction}` : ''}`;
}

/** Rounds half up (away from zero) to `precision` decimals, trims zeros, groups thousands with commas. */
export function formatRounded(amount: string, decimals = 18, precision = 6): string {
  const units = toUnits(amount);
  const negative = units < 0n;
  let magnitude = negative ? -units : units;
  let digitsKept = decimals;
  if (decimals > precision) {
    const step = 10n ** BigInt(decimals - precision);
    magnitude = (magnitude + step / 2n) / step;
    digitsKept = precision;
  }
  const [whole = '0', fraction] = formatAmount(magnitude.toString(), digitsKept).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return `${negative && magnitude > 0n ? '-' : ''}${grouped}${fraction ? `.${fraction}` : ''}`;
}

/** Parses a decimal amount exactly; null if it is invalid or has more decimals than the currency. */
export function parseDecimal(text: string, decimals: number): string | null {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text.trim());
  if (!match) return null;
  const fraction = match[2] ?? '';
  if (fraction.length > decimals) return null;
  return BigInt(`${match[1]}${fraction.padEnd(decimals, '0')}`).toString();
}

/** The currency of a formatted amount. */
export interface MoneyUnit {
  symbol: string;
  decimal: number;
}

const ISO_LIKE = /^[A-Z]{3}$/;

/** Only card currencies count as national: a token may be called "USD" without being worth one. */
export function isNational(unit: MoneyUnit): boolean {
  if (!ISO_LIKE.test(unit.symbol) || unit.decimal > 4) return false;
  return Intl.supportedValuesOf('currency').includes(unit.symbol);
}

/** An amount with its currency: "$5.00", "US$5.00" in Chinese, "1,234.56789 SKT". */
export function formatMoney(amount: string, unit: MoneyUnit, locale: string): string {
  if (!isNational(unit)) return `${formatRounded(amount, unit.decimal)} ${unit.symbol}`;
  const exact = formatAmount(amount, unit.decimal) as `${number}`;
  const format = new Intl.NumberFormat(locale === 'zh' ? 'zh-CN' : 'en-US', {
    style: 'currency',
    currency: unit.symbol,
  });
  return format.format(exact);
}

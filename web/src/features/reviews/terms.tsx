import { Button, Tooltip, Typography } from 'antd';
import type { SellingTerms } from '@/api/types';
import { formatMoney } from '@/lib/amount';
import type { Locale } from '@/lib/locale';
import { shortDid } from './people';
import { useSellingTexts } from './selling-texts';
import styles from './terms.module.css';

// The answer names the currency of every price.
const priceText = ({ currency, amount }: SellingTerms, language: Locale): string =>
  currency && amount !== null ? formatMoney(amount, currency, language) : (amount ?? '');

/** How an app is sold: its price with the tree of those who share it. */
export function Terms({ terms }: { terms: SellingTerms }) {
  const { t, language } = useSellingTexts();
  if (terms.type !== 'one_time') return <span>{t(`terms.${terms.type}`)}</span>;
  return (
    <ShareTree
      root={t('terms.price', { price: priceText(terms, language) })}
      storePercent={terms.store_percent}
      shares={terms.shares.map((share) => ({ ...share, key: share.beneficiary }))}
    />
  );
}

/** The price of an app in a list. Those who share it are its tooltip, which keyboard and touch open as well. */
export function ListedPrice({ terms }: { terms: SellingTerms }) {
  const { t, language } = useSellingTexts();
  if (terms.type !== 'one_time') return <span>{t(terms.type === 'free' ? 'terms.free' : 'terms.setByStore')}</span>;
  const part = (percent: string, name: string) => t('terms.part', { percent, name });
  const parts = [
    part(terms.store_percent, t('terms.store')),
    ...terms.shares.map(({ percent, name, beneficiary }) => part(percent, name || shortDid(beneficiary))),
  ];
  return (
    <Tooltip trigger={['hover', 'focus', 'click']} title={parts.map((text) => <div key={text}>{text}</div>)}>
      <Button type="link" size="small" className="money" style={{ paddingInline: 0 }}>
        {priceText(terms, language)}
      </Button>
    </Tooltip>
  );
}

interface TreeShare {
  key: string;
  beneficiary: string;
  /** Empty: the store knows none. */
  name: string;
  percent: string;
}

interface ShareTreeProps {
  root: string;
  storePercent: string;
  shares: TreeShare[];
}

/** A price and its parts. */
export function ShareTree({ root, storePercent, shares }: ShareTreeProps) {
  const { t } = useSellingTexts();
  return (
    <div className={styles.tree}>
      <strong>{root}</strong>
      <ul>
        <li>{t('terms.part', { percent: storePercent, name: t('terms.store') })}</li>
        {shares.map(({ key, beneficiary, name, percent }) => (
          <li key={key}>
            {t('terms.part', { percent, name: name || t('terms.unnamed') })}{' '}
            <Typography.Text code>{beneficiary}</Typography.Text>
          </li>
        ))}
      </ul>
    </div>
  );
}

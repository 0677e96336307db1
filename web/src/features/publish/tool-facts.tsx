import { Descriptions, type DescriptionsProps } from 'antd';
import type { ToolRequest } from '@/api/types';
import pages from '@/features/billing/pages.module.css';
import { dateTimeText } from '@/lib/format';
import { useTexts } from './texts';
import styles from './tool.module.css';

/** Who asks: what the tool says about itself, where the request came from, and the code to compare. */
export function ToolFacts({ request }: { request: ToolRequest }) {
  const { t, language } = useTexts();
  const { source, address, code, apps, created_at: asked, expires_at: until } = request;
  const time = (at: string) => <time dateTime={at}>{dateTimeText(at, language)}</time>;
  const items: DescriptionsProps['items'] = [
    // Isolated, because a name that runs from right to left would change the order of the text around it.
    { key: 'source', label: t('tool.source'), children: source ? <bdi>{source}</bdi> : t('tool.noSource') },
    { key: 'address', label: t('tool.address'), children: address ?? t('tool.noAddress') },
    { key: 'asked', label: t('tool.asked'), children: time(asked) },
    { key: 'until', label: t('tool.until'), children: time(until) },
    ...(apps.length > 0
      ? [{ key: 'apps', label: t('tool.apps'), children: <bdi>{apps.join(language === 'zh' ? '、' : ', ')}</bdi> }]
      : []),
  ];
  return (
    <>
      {code ? (
        <div className={styles.code}>
          <strong>{t('tool.code')}</strong>
          <output className={styles.digits}>{code}</output>
          <span>{t('tool.codeText')}</span>
        </div>
      ) : null}
      <Descriptions className={pages.details} layout="vertical" colon={false} column={{ xs: 1, sm: 2 }} items={items} />
    </>
  );
}

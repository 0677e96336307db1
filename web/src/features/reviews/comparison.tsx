import { useQuery } from '@tanstack/react-query';
import { Flex, Typography } from 'antd';
import type { ReactNode } from 'react';
import type { VersionComparison, VersionTerms } from '@/api/types';
import { LoadError, Loading, Section } from '@/features/billing/states';
import { ComparedFacts } from './compared-facts';
import { ComparedFiles } from './compared-files';
import { ComparedPictures } from './compared-pictures';
import { ComparedTexts } from './compared-texts';
import styles from './comparison.module.css';
import { useComparisonTexts } from './comparison-texts';
import { comparisonQuery } from './queries';
import { Terms } from './terms';

/** Everything that differs between a version and the published one. */
export function Comparison({ did, version }: { did: string; version: string }) {
  const { t } = useComparisonTexts();
  const { data, error, refetch } = useQuery(comparisonQuery(did, version));
  const base = data?.base;
  return (
    <Section id="comparison" title={base ? t('compare.title', { version: base }) : t('compare.titleFirst')}>
      {error && !data ? (
        <LoadError title={t('compare.error')} error={error} onRetry={() => void refetch()} />
      ) : data ? (
        <Flex vertical gap={24} align="stretch">
          <Parts did={did} comparison={data} />
        </Flex>
      ) : (
        <Loading rows={6} />
      )}
    </Section>
  );
}

function Parts({ did, comparison }: { did: string; comparison: VersionComparison }) {
  const { t } = useComparisonTexts();
  return (
    <>
      <Part title={t('compare.texts')}>
        <ComparedTexts texts={comparison.texts} />
      </Part>
      <Part title={t('compare.facts')}>
        <ComparedFacts comparison={comparison} />
      </Part>
      {comparison.terms.map((terms) => (
        <Part
          key={String(terms.livemode)}
          title={`${t('compare.price')} · ${t(terms.livemode ? 'compare.priceLive' : 'compare.priceTest')}`}
        >
          <ComparedTerms terms={terms} />
        </Part>
      ))}
      <Part title={t('compare.files')}>
        <ComparedFiles files={comparison.files} />
      </Part>
      <Part title={t('compare.pictures')}>
        <ComparedPictures did={did} comparison={comparison} />
      </Part>
    </>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div>
      <Typography.Title level={3} style={{ marginTop: 0 }}>
        {title}
      </Typography.Title>
      {children}
    </div>
  );
}

function ComparedTerms({ terms: { in_force: now, proposed } }: { terms: VersionTerms }) {
  const { t } = useComparisonTexts();
  return (
    <div className={styles.sides}>
      <div>
        <p>{t('compare.priceNow')}</p>
        <Terms terms={now} />
      </div>
      <div>
        <p>{t('compare.priceNext')}</p>
        {proposed ? <Terms terms={proposed} /> : t('compare.priceSame')}
      </div>
    </div>
  );
}

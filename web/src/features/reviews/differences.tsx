import { Flex, Typography } from 'antd';
import type { ReactNode } from 'react';
import type { VersionReview } from '@/api/types';
import { Section } from '@/features/billing/states';
import { useTexts } from './texts';

const KINDS = ['permissions', 'scripts', 'hosts'] as const;

/** What a version adds to the one with which it is compared; nothing for a first version. */
export function Differences({ review: { differences, base } }: { review: VersionReview }) {
  const { t } = useTexts();
  if (base === null) return null;
  const kinds = KINDS.filter((kind) => differences[kind].length > 0);
  return (
    <Section id="differences" title={t('differences.title', { version: base })}>
      {kinds.length === 0 && !differences.price ? (
        <Typography.Text type="secondary">{t('differences.none')}</Typography.Text>
      ) : (
        <Flex vertical gap={16}>
          {kinds.map((kind) => (
            <Kind key={kind} title={t(`differences.${kind}`)}>
              <ul style={{ margin: 0, paddingInlineStart: 20, overflowWrap: 'anywhere' }}>
                {differences[kind].map((name) => (
                  <li key={name}>
                    <Typography.Text code>{name}</Typography.Text>
                  </li>
                ))}
              </ul>
            </Kind>
          ))}
          {differences.price ? <Kind title={t('differences.price')}>{t('differences.priceText')}</Kind> : null}
        </Flex>
      )}
    </Section>
  );
}

function Kind({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div>
      <Typography.Title level={3} style={{ marginTop: 0 }}>
        {title}
      </Typography.Title>
      {children}
    </div>
  );
}

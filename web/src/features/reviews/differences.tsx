import { Flex, Typography } from 'antd';
import type { VersionReview } from '@/api/types';
import { Section } from '@/features/billing/states';
import { useTexts } from './texts';

const KINDS = ['permissions', 'scripts', 'hosts'] as const;

/** What a version adds to the published one; nothing for a first version. */
export function Differences({ review: { differences, current, version } }: { review: VersionReview }) {
  const { t } = useTexts();
  if (current === null || current === version.version) return null;
  const kinds = KINDS.filter((kind) => differences[kind].length > 0);
  return (
    <Section id="differences" title={t('differences.title', { version: current })}>
      {kinds.length === 0 ? (
        <Typography.Text type="secondary">{t('differences.none')}</Typography.Text>
      ) : (
        <Flex vertical gap={16}>
          {kinds.map((kind) => (
            <div key={kind}>
              <Typography.Title level={3} style={{ marginTop: 0 }}>
                {t(`differences.${kind}`)}
              </Typography.Title>
              <ul style={{ margin: 0, paddingInlineStart: 20, overflowWrap: 'anywhere' }}>
                {differences[kind].map((name) => (
                  <li key={name}>
                    <Typography.Text code>{name}</Typography.Text>
                  </li>
                ))}
              </ul>
            </div>
          ))}
        </Flex>
      )}
    </Section>
  );
}

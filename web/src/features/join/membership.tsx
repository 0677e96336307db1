import { Flex, Typography } from 'antd';
import type { DeveloperProgram } from '@/api/types';
import { LinkButton } from '@/features/billing/link-button';
import { dateText } from '@/lib/format';
import { Leave } from './leave';
import { useTexts } from './texts';

/** What somebody sees who is a developer already. */
export function Membership({ program: { standing } }: { program: DeveloperProgram }) {
  const { t, language } = useTexts();
  return (
    <Flex vertical gap={32} align="stretch" style={{ maxWidth: 720, marginInline: 'auto' }}>
      <div>
        <Typography.Title level={1}>{t('join.done')}</Typography.Title>
        <Typography.Text type="secondary">
          {standing?.developer_since ? t('join.since', { date: dateText(standing.developer_since, language) }) : null}
        </Typography.Text>
      </div>
      <Flex gap={12} wrap>
        <LinkButton to="/developer/access-tokens">{t('join.toTokens')}</LinkButton>
        <LinkButton to="/developer/apps">{t('join.toApps')}</LinkButton>
      </Flex>
      <Leave standing={standing} />
    </Flex>
  );
}

import { Button, Card, Flex, Tag, Typography } from 'antd';
import { Fragment } from 'react';
import { useTexts } from '@/features/billing/texts';

interface SignedInCardProps {
  name: string;
  /** What the browser or the command line says of itself. */
  description?: string;
  isCurrent?: boolean;
  /** One line each. */
  facts: string[];
  isEnding: boolean;
  isBusy: boolean;
  onEnd: () => void;
}

/** A browser or a computer in which the user is signed in, which can be signed out unless it is the one that shows it. */
export function SignedInCard({ name, description, isCurrent, facts, isEnding, isBusy, onEnd }: SignedInCardProps) {
  const { t } = useTexts();
  return (
    <Card size="small">
      <Flex justify="space-between" align="center" gap={12} wrap>
        <div>
          <Flex gap={8} align="center" wrap>
            <Typography.Text strong title={description}>
              <bdi>{name}</bdi>
            </Typography.Text>
            {isCurrent ? <Tag>{t('logins.current')}</Tag> : null}
          </Flex>
          <Typography.Text type="secondary">
            {facts.map((fact, index) => (
              <Fragment key={fact}>
                {index > 0 ? <br /> : null}
                {fact}
              </Fragment>
            ))}
          </Typography.Text>
        </div>
        {isCurrent ? null : (
          <Button aria-label={t('logins.endOf', { device: name })} loading={isEnding} disabled={isBusy} onClick={onEnd}>
            {t('logins.end')}
          </Button>
        )}
      </Flex>
    </Card>
  );
}

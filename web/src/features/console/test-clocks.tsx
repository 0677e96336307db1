import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button, Card, Col, Empty, Flex, Row, Table, Typography } from 'antd';
import { useState, useSyncExternalStore } from 'react';
import type { TestClock } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { useUser } from '@/app/queries';
import { switchMode } from '@/app/switch-mode';
import { LoadError, Loading, PageResult, Section } from '@/features/billing/states';
import { dateTimeText } from '@/lib/format';
import { livemode, onLivemode } from '@/lib/livemode';
import { isAdmin } from '@/lib/roles';
import { usePhone } from '@/lib/use-phone';
import { ClockPanel } from './clock-panel';
import { Forbidden } from './forbidden';
import { clocksQuery } from './queries';
import { StartClock } from './start-clock';
import { useTexts } from './texts';

/** The test clocks of the store: select one, or add one for another customer. */
export function TestClocks({ id }: { id?: string }) {
  const { t } = useTexts();
  const user = useUser();
  const live = useSyncExternalStore(onLivemode, livemode);
  const phone = usePhone();
  usePageTitle(t('clocks.title'));
  if (user && !isAdmin(user)) return <Forbidden title={t('clocks.forbidden')} />;
  if (live) {
    return (
      <PageResult
        status="info"
        title={t('clocks.title')}
        text={t('clocks.liveText')}
        action={
          <Button type="primary" onClick={() => switchMode(false)}>
            {t('clocks.toTest')}
          </Button>
        }
      />
    );
  }
  // On a phone the selected clock would be far below the list.
  const panelFirst = phone && id !== undefined;
  const panel = (
    <Col xs={24} lg={15}>
      <Card>
        {id ? (
          <ClockPanel key={id} id={id} />
        ) : (
          <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={t('clocks.choose')} />
        )}
      </Card>
    </Col>
  );
  return (
    <Flex vertical gap={24}>
      <div>
        <Typography.Title level={1}>{t('clocks.title')}</Typography.Title>
        <Typography.Text type="secondary">{t('clocks.lead')}</Typography.Text>
      </div>
      <Row gutter={[32, 32]}>
        {panelFirst ? panel : null}
        {/* Its other key mounts it anew, so that nothing on the page moves. */}
        <Col key={panelFirst ? 'below' : 'beside'} xs={24} lg={9}>
          <Flex vertical gap={24}>
            <Section id="start" title={t('clocks.start')}>
              <StartClock />
            </Section>
            <Section id="clocks" title={t('clocks.list')}>
              <Clocks id={id} />
            </Section>
          </Flex>
        </Col>
        {panelFirst ? null : panel}
      </Row>
    </Flex>
  );
}

/** The number of clocks on a page of their list. */
const CLOCKS_PER_PAGE = 10;

function Clocks({ id }: { id?: string }) {
  const { t, language } = useTexts();
  const [turned, setTurned] = useState<{ id?: string; page: number } | null>(null);
  const { data, error, refetch } = useQuery(clocksQuery);
  if (error && !data) return <LoadError title={t('clocks.error')} error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading rows={6} />;
  if (data.list.length === 0) return <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={t('clocks.empty')} />;
  // Another selected clock shows its own page of the list.
  const pageOfSelected =
    Math.floor(
      Math.max(
        0,
        data.list.findIndex((clock) => clock.id === id),
      ) / CLOCKS_PER_PAGE,
    ) + 1;
  return (
    <Table<TestClock>
      aria-label={t('clocks.list')}
      rowKey="id"
      size="small"
      showHeader={false}
      pagination={{
        size: 'small',
        pageSize: CLOCKS_PER_PAGE,
        hideOnSinglePage: true,
        showSizeChanger: false,
        current: turned && turned.id === id ? turned.page : pageOfSelected,
        onChange: (page) => setTurned({ id, page }),
      }}
      dataSource={data.list}
      columns={[
        {
          key: 'clock',
          render: (_, clock) => (
            <Flex vertical>
              <Link
                to="/console/test-clocks"
                search={{ id: clock.id }}
                aria-current={clock.id === id ? 'page' : undefined}
              >
                {clock.id === id ? <strong>{clock.name}</strong> : clock.name}
              </Link>
              <span>{clock.customer?.name || clock.customer?.email || clock.customer?.did}</span>
              <Typography.Text type="secondary">
                {clock.status === 'advancing' ? t('clocks.advancing') : dateTimeText(clock.now * 1000, language)}
              </Typography.Text>
            </Flex>
          ),
        },
      ]}
    />
  );
}

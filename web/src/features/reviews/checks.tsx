import { CheckCircleOutlined, CloseCircleOutlined, QuestionCircleOutlined } from '@ant-design/icons';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Alert, Button, Flex, Tag, Typography } from 'antd';
import { useState } from 'react';
import type { VersionCheck } from '@/api/types';
import { queryClient } from '@/app/queries';
import { ActionError } from '@/features/billing/action-error';
import { LoadError, Loading, Section } from '@/features/billing/states';
import { announce } from '@/kit/announce';
import { dateTimeText } from '@/lib/format';
import { checkName, findingText } from './check-texts';
import { checksQuery, runChecks } from './queries';
import styles from './reviews.module.css';
import { useTexts } from './texts';

/** Checks take seconds. A page that has waited for two minutes asks less often. */
const POLL_MS = 3000;
const SLOW_POLL_MS = 30_000;
const FAST_POLLS = 40;

const newestAt = (list: VersionCheck[] | undefined) =>
  list?.reduce((newest, { checked_at: at }) => (at > newest ? at : newest), '') ?? '';

/** What the checks of a version have found. They help to judge it and decide nothing. */
export function Checks({ did, version }: { did: string; version: string }) {
  const { t, language } = useTexts();
  /** The time of the results that a new run replaces; null: no run was ordered here. */
  const [replaced, setReplaced] = useState<string | null>(null);
  const query = checksQuery(did, version);
  const isWaiting = (list: VersionCheck[] | undefined) =>
    list !== undefined && (list.length === 0 || newestAt(list) === replaced);
  const { data, error, refetch } = useQuery({
    ...query,
    refetchInterval: ({ state }) =>
      isWaiting(state.data?.list) && (state.dataUpdateCount < FAST_POLLS ? POLL_MS : SLOW_POLL_MS),
  });
  const run = useMutation({
    mutationFn: () => runChecks(did, version),
    onSuccess: (former) => {
      setReplaced(newestAt(former.list));
      queryClient.setQueryData(query.queryKey, former);
      announce(t('checks.ordered'));
    },
  });
  const list = data?.list;
  const isRunning = isWaiting(list);
  return (
    <Section
      id="checks"
      title={t('checks.title')}
      action={
        <Button loading={run.isPending} disabled={!list || isRunning} onClick={() => run.mutate()}>
          {t('checks.run')}
        </Button>
      }
    >
      <Flex vertical gap={16} align="stretch">
        <Typography.Text type="secondary" style={{ maxWidth: 560 }}>
          {t('checks.lead')}
        </Typography.Text>
        <ActionError title={t('checks.notOrdered')} action={run} />
        {isRunning ? (
          <Alert
            type="info"
            showIcon
            role="status"
            title={t(list?.length ? 'checks.runningAgain' : 'checks.running')}
          />
        ) : null}
        {error && !list ? (
          <LoadError title={t('checks.error')} error={error} onRetry={() => void refetch()} />
        ) : list ? (
          <ul className={styles.checks}>
            {list.map((check) => (
              <CheckEntry key={check.name} check={check} />
            ))}
          </ul>
        ) : (
          <Loading />
        )}
        {list?.length ? (
          <Typography.Text type="secondary">
            {t('checks.at', { time: dateTimeText(newestAt(list), language) })}
          </Typography.Text>
        ) : null}
      </Flex>
    </Section>
  );
}

const STATES = {
  passed: ['success', <CheckCircleOutlined key="passed" aria-hidden="true" />],
  failed: ['warning', <CloseCircleOutlined key="failed" aria-hidden="true" />],
  errored: ['default', <QuestionCircleOutlined key="errored" aria-hidden="true" />],
} as const;

function CheckEntry({ check }: { check: VersionCheck }) {
  const { t } = useTexts();
  const [color, icon] = STATES[check.state];
  return (
    <li>
      <Flex gap={8} align="center" wrap>
        <Tag color={color} icon={icon} variant="filled">
          {t(`checks.state.${check.state}`)}
        </Tag>
        <span>{checkName(check.name, t)}</span>
      </Flex>
      {check.state === 'errored' ? (
        <Typography.Paragraph type="secondary" style={{ margin: '8px 0 0' }}>
          {t('checks.erroredHint')}
        </Typography.Paragraph>
      ) : null}
      {check.findings.length > 0 ? (
        <ul className={styles.findings}>
          {check.findings.map((finding, place) => {
            const { rule, hint } = findingText(finding, t);
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: findings have no id, and the list is replaced as a whole.
              <li key={place}>
                {finding.detail ? (
                  <>
                    {t('finding.detail', { rule })} <Typography.Text code>{finding.detail}</Typography.Text>
                  </>
                ) : (
                  rule
                )}
                {finding.file ? (
                  <div>
                    <Typography.Text code>
                      {finding.line ? `${finding.file}:${finding.line}` : finding.file}
                    </Typography.Text>
                  </div>
                ) : null}
                <div>
                  <Typography.Text type="secondary">{hint}</Typography.Text>
                </div>
              </li>
            );
          })}
        </ul>
      ) : null}
    </li>
  );
}

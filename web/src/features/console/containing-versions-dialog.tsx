import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button, Flex, Typography } from 'antd';
import type { BlockedDigest, ContainingVersion } from '@/api/types';
import { Dialog } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError } from '@/features/billing/states';
import { useTexts as useReviewTexts } from '@/features/reviews/texts';
import { dateTimeText } from '@/lib/format';
import { containingVersionsQuery } from './blocked-digests';
import { useTexts } from './texts';

interface ContainingVersionsDialogProps {
  blocked: BlockedDigest;
  onClose: () => void;
}

/** The versions that contain a blocked file. Whoever decides about one opens its review. */
export function ContainingVersionsDialog({ blocked: { sha256 }, onClose }: ContainingVersionsDialogProps) {
  const { t } = useTexts();
  const { data, error, refetch } = useQuery(containingVersionsQuery(sha256));
  const hidden = data ? data.count - data.list.length : 0;
  return (
    <Dialog
      title={t('digests.versionsTitle')}
      onClose={onClose}
      footer={<Button onClick={onClose}>{t('action.close')}</Button>}
    >
      <div className={styles.body}>
        <Typography.Text code style={{ overflowWrap: 'anywhere' }}>
          {sha256}
        </Typography.Text>
        {error && !data ? (
          <LoadError title={t('digests.versionsError')} error={error} onRetry={() => void refetch()} />
        ) : data?.count === 0 ? (
          <EmptyState text={t('digests.versionsEmpty')} />
        ) : (
          <Versions list={data?.list} />
        )}
        {hidden > 0 ? <p>{t('digests.versionsHidden', { count: hidden })}</p> : null}
      </div>
    </Dialog>
  );
}

function Versions({ list }: { list: ContainingVersion[] | undefined }) {
  const { t, language } = useTexts();
  const { t: review } = useReviewTexts();
  return (
    <RecordTable<ContainingVersion & { id: string }>
      label={t('digests.versionsTitle')}
      list={(list ?? []).map((found) => ({ ...found, id: `${found.did}@${found.version}` }))}
      isLoading={!list}
      minWidth={0}
      columns={[
        {
          key: 'version',
          title: t('digests.version'),
          render: (_, { did, name, version }) => (
            <Link
              to="/console/reviews/$did/$version"
              params={{ did, version }}
              title={did}
              style={{ overflowWrap: 'anywhere' }}
            >
              {name} {version}
            </Link>
          ),
        },
        {
          key: 'status',
          title: t('digests.status'),
          render: (_, { status, is_offered: isOffered }) => (
            <Flex vertical>
              {review(`status.${status}`)}
              {isOffered ? <Typography.Text type="danger">{t('digests.isOffered')}</Typography.Text> : null}
            </Flex>
          ),
        },
        {
          key: 'uploaded',
          title: t('digests.uploaded'),
          render: (_, { uploaded_at: at }) => <time dateTime={at}>{dateTimeText(at, language)}</time>,
        },
      ]}
    />
  );
}

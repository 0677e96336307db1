import { Flex, Tag, Typography } from 'antd';
import type { ChangedFile, VersionComparison } from '@/api/types';
import { RecordTable } from '@/features/billing/record-table';
import { sizeText } from '@/lib/format';
import { useComparisonTexts } from './comparison-texts';
import { visibleText } from './visible-text';

/** Rows on one page of the table; the server names at most 500 files. */
const PAGE_SIZE = 50;

const COLORS = { added: 'success', removed: 'error', changed: 'processing' } as const;

const changeOf = ({ before, after }: ChangedFile) =>
  before === null ? 'added' : after === null ? 'removed' : 'changed';

/** The files of the bundle that were added, removed or changed, with their sizes. */
export function ComparedFiles({ files }: { files: VersionComparison['files'] }) {
  const { t, language } = useComparisonTexts();
  if (!files) return <Typography.Text type="secondary">{t('compare.filesUnlisted')}</Typography.Text>;
  const { count, list, cut } = files;
  const size = (bytes: number | null) => (bytes === null ? '–' : sizeText(bytes, language));
  return (
    <Flex vertical gap={12} align="stretch">
      <Typography.Text type="secondary">
        {count === 0 ? t('compare.filesNone') : t('compare.filesCount', { count })}
        {count > list.length ? ` ${t('compare.filesShown', { count: list.length })}` : null}
        {cut ? ` ${t('compare.filesCut')}` : null}
      </Typography.Text>
      {list.length > 0 ? (
        <RecordTable<ChangedFile & { id: string }>
          label={t('compare.files')}
          list={list.map((file) => ({ ...file, id: file.path }))}
          isLoading={false}
          pagination={list.length > PAGE_SIZE ? { pageSize: PAGE_SIZE, showSizeChanger: false } : false}
          columns={[
            {
              key: 'path',
              title: t('compare.file'),
              render: (_, { path }) => (
                <Typography.Text code style={{ overflowWrap: 'anywhere' }}>
                  {visibleText(path)}
                </Typography.Text>
              ),
            },
            {
              key: 'change',
              title: t('compare.change'),
              render: (_, file) => (
                <Tag color={COLORS[changeOf(file)]} variant="outlined">
                  {t(`compare.change.${changeOf(file)}`)}
                </Tag>
              ),
            },
            { key: 'before', title: t('compare.before'), align: 'end', render: (_, { before }) => size(before) },
            { key: 'after', title: t('compare.after'), align: 'end', render: (_, { after }) => size(after) },
          ]}
        />
      ) : null}
    </Flex>
  );
}

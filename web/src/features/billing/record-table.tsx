import { Flex, Table, type TablePaginationConfig } from 'antd';
import type { ReactNode } from 'react';
import { usePhone } from '@/lib/use-phone';
import styles from './record-table.module.css';

export interface RecordColumn<T> {
  key: string;
  title: ReactNode;
  align?: 'end';
  /** Keeps the column in view while the others scroll. */
  fixed?: 'end';
  className?: string;
  render: (value: unknown, entry: T) => ReactNode;
}

interface RecordTableProps<T> {
  /** The name of the table for screen readers. */
  label: string;
  columns: RecordColumn<T>[];
  list: T[];
  isLoading: boolean;
  pagination?: TablePaginationConfig | false;
  /** The width below which the table scrolls, in pixels; 0: it fits into the space that it gets, such as a dialog. */
  minWidth?: number;
  /** Less space around each cell, for many columns. */
  dense?: boolean;
}

/** The width below which a table scrolls instead of breaking its texts into more lines, in pixels. */
export const TABLE_MIN_WIDTH = 720;

/** A table of records. On a phone, each entry lists its columns below each other. */
export function RecordTable<T extends { id: string }>({
  label,
  columns,
  list,
  isLoading,
  pagination = false,
  minWidth = TABLE_MIN_WIDTH,
  dense = false,
}: RecordTableProps<T>) {
  const phone = usePhone();
  return (
    <Table<T>
      aria-label={label}
      className={styles.table}
      rowKey="id"
      size={dense ? 'middle' : undefined}
      columns={phone ? [{ key: 'entry', render: (_, entry) => <Entry columns={columns} entry={entry} /> }] : columns}
      showHeader={!phone}
      dataSource={list}
      loading={isLoading}
      scroll={phone ? undefined : { x: minWidth }}
      // Columns follow their contents; with a pinned column, antd would give all of them the same width.
      tableLayout="auto"
      pagination={pagination}
    />
  );
}

/** The first column of an entry, followed by the others with their titles. */
function Entry<T>({ columns: [first, ...others], entry }: { columns: RecordColumn<T>[]; entry: T }) {
  return (
    <Flex vertical gap={8}>
      {first?.render(undefined, entry)}
      <dl className={styles.facts}>
        {others.map(({ key, title, className, render }) => {
          const content = render(undefined, entry);
          if (!content) return null;
          return (
            <div key={key}>
              <dt>{title}</dt>
              <dd className={className}>{content}</dd>
            </div>
          );
        })}
      </dl>
    </Flex>
  );
}

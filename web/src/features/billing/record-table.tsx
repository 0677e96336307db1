import { Flex, Table, type TablePaginationConfig } from 'antd';
import type { ReactNode } from 'react';
import { usePhone } from '@/lib/use-phone';
import styles from './record-table.module.css';

export interface RecordColumn<T> {
  key: string;
  title: ReactNode;
  align?: 'end';
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
}

/** A table of records. On a phone, each entry lists its columns below each other. */
export function RecordTable<T extends { id: string }>({
  label,
  columns,
  list,
  isLoading,
  pagination = false,
}: RecordTableProps<T>) {
  const phone = usePhone();
  return (
    <Table<T>
      aria-label={label}
      rowKey="id"
      columns={phone ? [{ key: 'entry', render: (_, entry) => <Entry columns={columns} entry={entry} /> }] : columns}
      showHeader={!phone}
      dataSource={list}
      loading={isLoading}
      scroll={phone ? undefined : { x: 'max-content' }}
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

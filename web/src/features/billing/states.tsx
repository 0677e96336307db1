import { Alert, Button, Empty, Flex, Result, Skeleton, Typography } from 'antd';
import type { ReactNode } from 'react';
import { translateError } from '@/i18n/translate';
import { useTexts } from './texts';

interface SectionProps {
  id: string;
  title: string;
  /** A button at the end of the row of the heading. */
  action?: ReactNode;
  children: ReactNode;
}

/** A heading with its content. */
export function Section({ id, title, action, children }: SectionProps) {
  const heading = (
    <Typography.Title level={2} id={id}>
      {title}
    </Typography.Title>
  );
  return (
    <section aria-labelledby={id}>
      {action ? (
        <Flex justify="space-between" align="baseline" gap={12} wrap>
          {heading}
          {action}
        </Flex>
      ) : (
        heading
      )}
      {children}
    </section>
  );
}

/** A part of the page that could not be loaded, with a button that tries again. */
export function LoadError({ title, error, onRetry }: { title: string; error: unknown; onRetry: () => void }) {
  const { t } = useTexts();
  return (
    <Alert
      type="error"
      showIcon
      title={title}
      description={translateError(error)}
      action={<Button onClick={onRetry}>{t('action.retry')}</Button>}
    />
  );
}

/** A list without entries. */
export function EmptyState({ text, children }: { text: string; children?: ReactNode }) {
  return (
    <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={text}>
      {children}
    </Empty>
  );
}

/** The space of data that is still loading. */
export function Loading({ rows = 4, title = false }: { rows?: number; title?: boolean }) {
  const { t } = useTexts();
  return (
    <div aria-busy="true">
      <span className="sr-only">{t('state.loading')}</span>
      <Skeleton title={title} paragraph={{ rows }} />
    </div>
  );
}

interface PageResultProps {
  status: 'info' | 'success' | 'error' | 'warning';
  title: string;
  text?: string;
  /** A link or button to continue. */
  action?: ReactNode;
}

/** A page that has nothing else to show. An error is announced with its reason. */
export function PageResult({ status, title, text, action }: PageResultProps) {
  return (
    <div role={status === 'error' ? 'alert' : undefined}>
      <Result
        status={status}
        title={<Typography.Title level={1}>{title}</Typography.Title>}
        // Centered as a block; its lines begin at the start.
        subTitle={
          text ? (
            <div style={{ width: 'fit-content', maxWidth: '68ch', marginInline: 'auto', textAlign: 'start' }}>
              {text}
            </div>
          ) : undefined
        }
        extra={action}
      />
    </div>
  );
}

import { useMutation, useQuery } from '@tanstack/react-query';
import { Button, Flex, Typography } from 'antd';
import { useState } from 'react';
import type { ManagedCategory } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { ActionError } from '@/features/billing/action-error';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';
import { Dialog } from '@/features/billing/dialog';
import { LinkButton } from '@/features/billing/link-button';
import { RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError } from '@/features/billing/states';
import { announce } from '@/kit/announce';
import { countText } from '@/lib/format';
import { createDefaultCategories, deleteCategory, managedCategoriesQuery, reloadCategories } from './categories';
import { CategoryDialog } from './category-dialog';
import { RequireAdmin } from './require-admin';
import { useTexts } from './texts';

type Shown = { dialog: 'create' } | { dialog: 'edit' | 'delete'; category: ManagedCategory };

/** The categories of the store. */
export function CategoriesPage() {
  const { t } = useTexts();
  usePageTitle(t('categories.title'));
  return (
    <RequireAdmin>
      <Categories />
    </RequireAdmin>
  );
}

function Categories() {
  const { t, language } = useTexts();
  const [shown, setShown] = useState<Shown | null>(null);
  const { data, error, refetch } = useQuery(managedCategoriesQuery);
  const nameOf = ({ name }: ManagedCategory) => name[language] || name.en;
  const close = () => setShown(null);
  const done = (text: string) => {
    announce(text);
    reloadCategories();
    close();
  };
  const categories = data?.list ?? [];
  return (
    <>
      <Flex vertical gap={24} align="stretch">
        <Flex justify="space-between" gap={16} wrap align="start">
          <div style={{ maxWidth: 560 }}>
            <Typography.Title level={1}>{t('categories.title')}</Typography.Title>
            <Typography.Text type="secondary">{t('categories.lead')}</Typography.Text>
          </div>
          <Button type="primary" disabled={!data} onClick={() => setShown({ dialog: 'create' })}>
            {t('categories.create')}
          </Button>
        </Flex>
        {error && !data ? (
          <LoadError title={t('categories.error')} error={error} onRetry={() => void refetch()} />
        ) : data?.count === 0 ? (
          <NoCategories onDone={() => done(t('categories.defaultCreated'))} />
        ) : (
          <RecordTable<ManagedCategory>
            label={t('categories.title')}
            list={categories}
            isLoading={!data}
            columns={[
              {
                key: 'en',
                title: t('categories.nameEn'),
                render: (_, { name }) => (
                  <span lang="en" style={{ overflowWrap: 'anywhere' }}>
                    {name.en}
                  </span>
                ),
              },
              {
                key: 'zh',
                title: t('categories.nameZh'),
                render: (_, { name }) => (
                  <span lang="zh" style={{ overflowWrap: 'anywhere' }}>
                    {name.zh}
                  </span>
                ),
              },
              {
                key: 'slug',
                title: t('categories.slug'),
                render: (_, { slug }) => (
                  <Typography.Text code style={{ overflowWrap: 'anywhere' }}>
                    {slug}
                  </Typography.Text>
                ),
              },
              {
                key: 'apps',
                title: t('categories.apps'),
                align: 'end',
                render: (_, { app_count: count }) => countText(count, language),
              },
              {
                key: 'action',
                title: <span className="sr-only">{t('apps.action')}</span>,
                fixed: 'end',
                render: (_, category) => (
                  <Flex gap={8} wrap>
                    <Button
                      size="small"
                      aria-label={t('categories.editOf', { name: nameOf(category) })}
                      onClick={() => setShown({ dialog: 'edit', category })}
                    >
                      {t('categories.edit')}
                    </Button>
                    <Button
                      size="small"
                      danger
                      aria-label={t('categories.deleteOf', { name: nameOf(category) })}
                      onClick={() => setShown({ dialog: 'delete', category })}
                    >
                      {t('categories.delete')}
                    </Button>
                  </Flex>
                ),
              },
            ]}
          />
        )}
      </Flex>
      {shown?.dialog === 'create' ? (
        <CategoryDialog
          categories={categories}
          onClose={close}
          onDone={(saved) => done(t('categories.created', { name: nameOf(saved) }))}
        />
      ) : null}
      {shown?.dialog === 'edit' ? (
        <CategoryDialog
          category={shown.category}
          categories={categories}
          onClose={close}
          onDone={(saved) => done(t('categories.saved', { name: nameOf(saved) }))}
        />
      ) : null}
      {shown?.dialog === 'delete' ? (
        <DeleteDialog
          category={shown.category}
          name={nameOf(shown.category)}
          onClose={close}
          onDone={() => done(t('categories.deleted', { name: nameOf(shown.category) }))}
        />
      ) : null}
    </>
  );
}

function NoCategories({ onDone }: { onDone: () => void }) {
  const { t } = useTexts();
  const create = useMutation({ mutationFn: createDefaultCategories, onSuccess: onDone, onError: reloadCategories });
  return (
    <Flex vertical gap={16}>
      <EmptyState text={t('categories.empty')}>
        <Button loading={create.isPending} onClick={() => create.mutate()}>
          {t('categories.createDefault')}
        </Button>
      </EmptyState>
      <ActionError title={t('categories.defaultNotCreated')} action={create} />
    </Flex>
  );
}

interface DeleteDialogProps {
  category: ManagedCategory;
  name: string;
  onClose: () => void;
  onDone: () => void;
}

/** Asks before a category is deleted; one that has apps cannot be, and the dialog says so. */
function DeleteDialog({ category, name, onClose, onDone }: DeleteDialogProps) {
  const { t } = useTexts();
  const title = t('categories.deleteTitle', { name });
  if (category.app_count > 0)
    return (
      <Dialog
        title={title}
        onClose={onClose}
        footer={
          <>
            <Button onClick={onClose}>{t('action.close')}</Button>
            <LinkButton to="/console/apps" search={{ category_id: category.id }}>
              {t('categories.toApps')}
            </LinkButton>
          </>
        }
      >
        <p>{t('categories.inUse', { count: category.app_count })}</p>
      </Dialog>
    );
  return (
    <ConfirmDialog
      title={title}
      action={t('categories.deleteAction')}
      failedTitle={t('categories.notDeleted')}
      danger
      run={() => deleteCategory(category.id)}
      onClose={onClose}
      onDone={onDone}
    >
      <p>{t('categories.deleteText')}</p>
    </ConfirmDialog>
  );
}

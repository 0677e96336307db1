import { useMutation } from '@tanstack/react-query';
import { Button } from 'antd';
import type { ManagedApp, ReviewType } from '@/api/types';
import { useUser } from '@/app/queries';
import { ActionError } from '@/features/billing/action-error';
import { Dialog } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm } from '@/features/billing/form';
import { CategoryField } from '@/features/reviews/category-field';
import { ReviewTypeField } from '@/features/reviews/review-type-field';
import { setAppCategory } from './apps';
import { useTexts } from './texts';

const FORM = 'app-category';

interface Values {
  category_id: string;
  review_type?: ReviewType | 'store';
}

interface AppCategoryDialogProps {
  app: ManagedApp;
  name: string;
  onClose: () => void;
  onDone: () => void;
}

/** Sets the category of an app, and which of its versions are reviewed. */
export function AppCategoryDialog({ app, name, onClose, onDone }: AppCategoryDialogProps) {
  const { t } = useTexts();
  const userDid = useUser()?.did;
  // The server lets nobody decide whether their own app is reviewed.
  const choosesReview = app.latest !== null && app.developer !== userDid;
  const save = useMutation({
    mutationFn: ({ category_id, review_type: chosen = 'store' }: Values) =>
      setAppCategory(app.did, { category_id, review_type: chosen === 'store' ? null : chosen }),
    onSuccess: onDone,
  });
  return (
    <Dialog
      title={t(choosesReview ? 'apps.categoryReviewTitle' : 'apps.categoryTitle', { name })}
      isBusy={save.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={save.isPending}>
            {t('action.cancel')}
          </Button>
          <Button type="primary" htmlType="submit" form={FORM} loading={save.isPending}>
            {t('action.save')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <CheckedForm<Values>
          name={FORM}
          initialValues={{ category_id: app.category_id ?? undefined, review_type: app.review_type ?? 'store' }}
          onFinish={(values) => save.mutate(values)}
        >
          <CategoryField />
          {choosesReview ? <ReviewTypeField current={app.review_type} /> : null}
        </CheckedForm>
        <ActionError title={t('apps.categoryNotSet')} action={save} />
      </div>
    </Dialog>
  );
}

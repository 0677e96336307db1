import { Button, Form } from 'antd';
import type { VersionReview } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { CheckedForm } from '@/features/billing/form';
import { announce } from '@/kit/announce';
import { CommentField } from './comment-field';
import { useStep } from './step-dialog';
import { useTexts } from './texts';

interface CommentFormProps {
  review: VersionReview;
  onCommented: (review: VersionReview) => void;
}

/** Adds a comment to the thread of a version. A comment that was not sent stays in the field. */
export function CommentForm({ review, onCommented }: CommentFormProps) {
  const { t } = useTexts();
  const [form] = Form.useForm<{ comment: string }>();
  const send = useStep(review, (changed) => {
    form.resetFields();
    announce(t('done.comment'));
    onCommented(changed);
  });
  return (
    <div style={{ maxWidth: 640 }}>
      <CheckedForm<{ comment: string }>
        name="new-comment"
        form={form}
        initialValues={{ comment: '' }}
        onFinish={({ comment }) => send.mutate({ step: 'comment', comment: comment.trim() })}
      >
        <CommentField label={t('comment.new')} />
        <Button htmlType="submit" loading={send.isPending}>
          {t('comment.send')}
        </Button>
      </CheckedForm>
      <ActionError title={t('failed.comment')} action={send} />
    </div>
  );
}

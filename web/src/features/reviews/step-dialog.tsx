import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import { Button, type FormInstance } from 'antd';
import type { ReactNode } from 'react';
import { ApiError } from '@/api/error';
import type { VersionReview } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Dialog } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm } from '@/features/billing/form';
import { reloadReviews, type StepInput, takeStep } from './queries';
import type { StepSubject } from './steps';

/** Takes a step. A refusal by the state of the review means that this page is out of date, so it loads again. */
export function useStep(
  review: StepSubject,
  onDone: (changed: VersionReview, input: StepInput) => void,
): UseMutationResult<VersionReview, Error, StepInput> {
  return useMutation({
    mutationFn: (input: StepInput) => takeStep(review, input),
    onSuccess: onDone,
    onError: (error) => {
      if (error instanceof ApiError && error.status === 409) reloadReviews();
    },
  });
}

interface StepDialogProps<Values extends object> {
  title: string;
  /** The label of the button. */
  action: string;
  /** The label of the button that closes the dialog. */
  dismiss: string;
  failedTitle: string;
  danger?: boolean;
  form?: FormInstance<Values>;
  initialValues?: Partial<Values>;
  review: StepSubject;
  /** What the form says. */
  read: (values: Values) => StepInput;
  onClose: () => void;
  onDone: (changed: VersionReview, input: StepInput) => void;
  /** The consequences, and the fields. */
  children: ReactNode;
}

const FORM = 'step';

/** A dialog that asks for what a step needs, names its consequences, and takes it. */
export function StepDialog<Values extends object>({
  title,
  action,
  dismiss,
  failedTitle,
  danger = false,
  form,
  initialValues,
  review,
  read,
  onClose,
  onDone,
  children,
}: StepDialogProps<Values>) {
  const step = useStep(review, onDone);
  return (
    <Dialog
      title={title}
      isBusy={step.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={step.isPending}>
            {dismiss}
          </Button>
          <Button type="primary" danger={danger} htmlType="submit" form={FORM} loading={step.isPending}>
            {action}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <CheckedForm<Values>
          name={FORM}
          form={form}
          initialValues={initialValues}
          onFinish={(values) => step.mutate(read(values))}
        >
          {children}
        </CheckedForm>
        <ActionError title={failedTitle} action={step} />
      </div>
    </Dialog>
  );
}

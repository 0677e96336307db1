import { Button } from 'antd';
import { useState } from 'react';
import type { VersionReview } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import type { StepInput } from './queries';
import styles from './reviews.module.css';
import { useStep } from './step-dialog';
import { type DialogStep, FINAL_STEPS, isDialogStep, StepDialogOf } from './step-dialogs';
import type { ReviewStep } from './steps';
import { useTexts } from './texts';

/** The steps that a page emphasizes if the user can take them. */
const MAIN_STEPS: readonly ReviewStep[] = ['publish', 'request', 'start', 'approve', 'grant_appeal'];

interface ActionsProps {
  review: VersionReview;
  steps: ReviewStep[];
  onDone: (changed: VersionReview, input: StepInput) => void;
}

/** A button for each step that the user can take now; comments have a field of their own. */
export function Actions({ review, steps, onDone }: ActionsProps) {
  const { t } = useTexts();
  const [shown, setShown] = useState<DialogStep | null>(null);
  const direct = useStep(review, onDone);
  const take = (step: ReviewStep) => {
    // The error of a former step is out of date.
    direct.reset();
    if (isDialogStep(step)) setShown(step);
    else direct.mutate({ step });
  };
  const buttons = steps.filter((step): step is Exclude<ReviewStep, 'comment'> => step !== 'comment');
  const main = buttons.find((step) => MAIN_STEPS.includes(step));
  return (
    <>
      {buttons.length > 0 ? (
        <div className={styles.actions}>
          {buttons.map((step) => (
            <Button
              key={step}
              type={step === main ? 'primary' : 'default'}
              danger={FINAL_STEPS.includes(step)}
              disabled={direct.isPending && direct.variables.step !== step}
              loading={direct.isPending && direct.variables.step === step}
              onClick={() => take(step)}
            >
              {t(`step.${step}`)}
            </Button>
          ))}
        </div>
      ) : null}
      <ActionError title={t('failed.step')} action={direct} />
      {shown ? (
        <StepDialogOf
          step={shown}
          review={review}
          onClose={() => setShown(null)}
          onDone={(changed, input) => {
            setShown(null);
            onDone(changed, input);
          }}
        />
      ) : null}
    </>
  );
}

import { Form } from 'antd';
import dayjs, { type Dayjs } from 'dayjs';
import type { ReviewType, VersionReview } from '@/api/types';
import { DateTimeField } from '@/features/billing/date-time-field';
import { rule } from '@/features/billing/form';
import { OptionList } from '@/features/billing/option-list';
import { CategoryField } from './category-field';
import { CommentField, REASON_MAX } from './comment-field';
import type { StepInput } from './queries';
import styles from './reviews.module.css';
import { StepDialog } from './step-dialog';
import type { ReviewStep } from './steps';
import { useTexts } from './texts';
import { useNow } from './use-now';

/** Steps that are taken at once. The others ask for a confirmation or for what they say. */
const DIRECT_STEPS = ['request', 'start', 'renew', 'comment'] as const;
export type DialogStep = Exclude<ReviewStep, (typeof DIRECT_STEPS)[number]>;

export const isDialogStep = (step: ReviewStep): step is DialogStep =>
  !(DIRECT_STEPS as readonly ReviewStep[]).includes(step);

/** The steps that end something for the developer. */
export const FINAL_STEPS: readonly string[] = ['reject', 'deny_appeal', 'cancel', 'yank', 'block'];

interface StepDialogsProps {
  step: DialogStep;
  review: VersionReview;
  onClose: () => void;
  onDone: (changed: VersionReview, input: StepInput) => void;
}

/** The dialog of a step. */
export function StepDialogOf({ step, ...props }: StepDialogsProps) {
  switch (step) {
    case 'publish':
      return <PublishDialog {...props} />;
    case 'approve':
      return <ApproveDialog {...props} />;
    case 'schedule':
      return <ScheduleDialog {...props} />;
    case 'cancel':
    case 'take_over':
    case 'roll_back':
    case 'undo_yank':
    case 'unblock':
    case 'unschedule':
      return <PlainDialog step={step} {...props} />;
    default:
      return <CommentDialog step={step} {...props} />;
  }
}

type DialogProps = Omit<StepDialogsProps, 'step'>;

function useTitles(step: DialogStep, { app, version: { version } }: VersionReview) {
  const { t } = useTexts();
  return {
    title: t(`dialog.${step}`, { name: app.name, version }),
    action: t(`step.${step}`),
    failedTitle: t(`failed.${step}`),
    danger: FINAL_STEPS.includes(step),
  };
}

type PlainStep = 'cancel' | 'take_over' | 'roll_back' | 'undo_yank' | 'unblock' | 'unschedule';

function PlainDialog({ step, ...props }: DialogProps & { step: PlainStep }) {
  const { t } = useTexts();
  const titles = useTitles(step, props.review);
  return (
    <StepDialog<object> {...titles} {...props} read={() => ({ step })}>
      <p className={styles.consequence}>{t(`consequence.${step}`)}</p>
    </StepDialog>
  );
}

type CommentStep = Exclude<DialogStep, 'publish' | 'approve' | 'schedule' | PlainStep>;

function CommentDialog({ step, ...props }: DialogProps & { step: CommentStep }) {
  const { t } = useTexts();
  const titles = useTitles(step, props.review);
  return (
    <StepDialog<{ comment: string }>
      {...titles}
      {...props}
      initialValues={{ comment: '' }}
      read={({ comment }) => ({ step, comment: comment.trim() })}
    >
      <p className={styles.consequence}>{t(`consequence.${step}`)}</p>
      {step === 'yank' || step === 'block' ? (
        <CommentField
          label={t('comment.reason')}
          hint={t(props.review.role === 'app_owner' ? 'comment.reviewersSee' : 'comment.developerSees')}
          max={REASON_MAX}
        />
      ) : (
        <CommentField
          label={t(step === 'appeal' ? 'comment.appeal' : 'comment.label')}
          hint={step === 'appeal' ? t('comment.reviewersSee') : t('comment.developerSees')}
        />
      )}
    </StepDialog>
  );
}

interface Approval {
  comment: string;
  category_id: string | null;
  review_type: ReviewType | 'store';
}

function ApproveDialog(props: DialogProps) {
  const { t } = useTexts();
  const titles = useTitles('approve', props.review);
  const { category_id: category, review_type: reviewType } = props.review.app;
  // A choice for the app stays one: the store's setting applies to apps without a choice only.
  const types: Approval['review_type'][] = reviewType === null ? ['store', 'FIRST', 'EACH'] : ['FIRST', 'EACH'];
  return (
    <StepDialog<Approval>
      {...titles}
      {...props}
      initialValues={{ comment: '', category_id: category, review_type: reviewType ?? 'store' }}
      read={({ comment, category_id, review_type: chosen }) => ({
        step: 'approve',
        comment: comment.trim(),
        category_id,
        review_type: chosen === 'store' ? null : chosen,
      })}
    >
      <p className={styles.consequence}>{t('consequence.approve')}</p>
      <CommentField label={t('comment.label')} hint={t('comment.developerSees')} />
      <CategoryField />
      <Form.Item<Approval> name="review_type" label={t('facts.reviewType')}>
        <OptionList
          label={t('facts.reviewType')}
          options={types.map((value) => ({
            value,
            title: t(`reviewType.${value}`),
            detail: t(`reviewType.${value}.detail`),
          }))}
        />
      </Form.Item>
    </StepDialog>
  );
}

function PublishDialog(props: DialogProps) {
  const { t } = useTexts();
  const titles = useTitles('publish', props.review);
  const needsCategory = props.review.app.category_id === null;
  return (
    <StepDialog<{ category_id?: string }>
      {...titles}
      {...props}
      read={({ category_id }) => ({ step: 'publish', ...(needsCategory ? { category_id } : {}) })}
    >
      <p className={styles.consequence}>{t('consequence.publish')}</p>
      {needsCategory ? <CategoryField hint={t('category.hint')} /> : null}
    </StepDialog>
  );
}

/** How far ahead a publication can be scheduled, as the server allows it. */
const SCHEDULE_MAX_DAYS = 365;

function ScheduleDialog(props: DialogProps) {
  const { t } = useTexts();
  const titles = useTitles('schedule', props.review);
  const now = useNow(null);
  const isPossible = (time: Dayjs | null | undefined) =>
    Boolean(time && time.valueOf() > now && time.isBefore(dayjs(now).add(SCHEDULE_MAX_DAYS, 'day')));
  return (
    <StepDialog<{ time: Dayjs }>
      {...titles}
      {...props}
      read={({ time }) => ({ step: 'schedule', publish_at: time.toISOString() })}
    >
      <p className={styles.consequence}>{t('consequence.schedule')}</p>
      <Form.Item name="time" label={t('schedule.time')} rules={[rule(isPossible, t('schedule.timeWrong'))]}>
        <DateTimeField from={now / 1000} minDate={dayjs(now).startOf('day')} style={{ width: '100%' }} />
      </Form.Item>
    </StepDialog>
  );
}

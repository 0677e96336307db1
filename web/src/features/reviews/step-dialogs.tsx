import { useQuery } from '@tanstack/react-query';
import { Checkbox, Flex, Form } from 'antd';
import dayjs, { type Dayjs } from 'dayjs';
import type { ReviewType, VersionReview } from '@/api/types';
import { DateTimeField } from '@/features/billing/date-time-field';
import { Note } from '@/features/billing/dialog';
import { rule } from '@/features/billing/form';
import { LoadError } from '@/features/billing/states';
import { formatMoney } from '@/lib/amount';
import { CategoryField } from './category-field';
import { CommentField, REASON_MAX } from './comment-field';
import { canBeKept, heldText, PayDeposit } from './deposit';
import { appDepositQuery, type StepInput } from './queries';
import { ReviewTypeField } from './review-type-field';
import styles from './reviews.module.css';
import { StepDialog } from './step-dialog';
import type { ReviewStep, StepSubject } from './steps';
import { useTexts } from './texts';
import { useNow } from './use-now';

/** Steps that are taken at once. The others ask for a confirmation or for what they say. */
const DIRECT_STEPS = ['request', 'start', 'renew', 'comment'] as const;
export type DialogStep = Exclude<ReviewStep, (typeof DIRECT_STEPS)[number]>;

export const isDialogStep = (step: ReviewStep): step is DialogStep =>
  !(DIRECT_STEPS as readonly ReviewStep[]).includes(step);

/** The steps that end something for the developer. */
export const FINAL_STEPS: readonly string[] = ['reject', 'deny_appeal', 'cancel', 'yank', 'block', 'keep_deposit'];

interface StepDialogsProps {
  step: DialogStep;
  review: StepSubject;
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
    case 'block':
    case 'keep_deposit':
      return <BlockDialog step={step} {...props} />;
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

function useTitles(step: DialogStep, { app, version: { version } }: StepSubject) {
  const { t } = useTexts();
  return {
    title: t(`dialog.${step}`, { name: app.name, version }),
    action: t(`step.${step}`),
    // The action of these steps is to cancel something.
    dismiss: t(step === 'cancel' || step === 'unschedule' ? 'action.back' : 'action.cancel'),
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

type CommentStep = Exclude<DialogStep, 'publish' | 'approve' | 'schedule' | 'block' | 'keep_deposit' | PlainStep>;

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
      {step === 'yank' ? (
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

interface Block {
  comment: string;
  forfeits?: boolean;
}

/** With a block, or after it, the store can keep the deposit for the app, if there is one. */
function BlockDialog({ step, ...props }: DialogProps & { step: 'block' | 'keep_deposit' }) {
  const texts = useTexts();
  const { t } = texts;
  const titles = useTitles(step, props.review);
  const { data: deposit, error, refetch } = useQuery(appDepositQuery(props.review.app.did));
  const amount = canBeKept(deposit) ? heldText(deposit.stake, texts) : null;
  return (
    <StepDialog<Block>
      {...titles}
      {...props}
      initialValues={{ comment: '', forfeits: false }}
      read={({ comment, forfeits }) => ({
        step,
        comment: comment.trim(),
        ...(forfeits ? { forfeit_deposit: true } : {}),
      })}
    >
      {step === 'block' ? <p className={styles.consequence}>{t('consequence.block')}</p> : null}
      {step === 'keep_deposit' && amount ? (
        <p className={styles.consequence}>{t('consequence.keep_deposit', { amount })}</p>
      ) : null}
      <CommentField label={t('comment.reason')} hint={t('comment.developerSees')} max={REASON_MAX} />
      {error && !deposit ? <LoadError title={t('deposit.error')} error={error} onRetry={() => void refetch()} /> : null}
      {step === 'block' && amount ? (
        <Form.Item<Block> name="forfeits" valuePropName="checked" extra={t('block.forfeitHint')}>
          <Checkbox>{t('block.forfeit', { amount })}</Checkbox>
        </Form.Item>
      ) : null}
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
      <ReviewTypeField current={reviewType} />
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
      <MissingDeposit app={props.review.app} />
      {needsCategory ? <CategoryField hint={t('category.hint')} /> : null}
    </StepDialog>
  );
}

/** That a deposit is missing before the app can be published, with a button that asks the wallet for it. */
function MissingDeposit({ app }: { app: StepSubject['app'] }) {
  const { t, language } = useTexts();
  const { data } = useQuery(appDepositQuery(app.did));
  if (!data?.required || data.complete) return null;
  const { terms } = data;
  if (!terms) return <Note type="warning" title={t('deposit.unavailable')} />;
  return (
    <Note
      type="info"
      title={t('deposit.required', { amount: formatMoney(terms.amount, terms.currency, language) })}
      description={
        <Flex vertical gap={12} align="flex-start">
          {t('deposit.waiting', { count: terms.waiting_days })}
          <PayDeposit app={app} deposit={data} />
        </Flex>
      }
    />
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
      <MissingDeposit app={props.review.app} />
      <Form.Item name="time" label={t('schedule.time')} rules={[rule(isPossible, t('schedule.timeWrong'))]}>
        <DateTimeField from={now / 1000} minDate={dayjs(now).startOf('day')} style={{ width: '100%' }} />
      </Form.Item>
    </StepDialog>
  );
}

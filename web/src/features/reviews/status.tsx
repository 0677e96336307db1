import {
  CheckCircleOutlined,
  ClockCircleOutlined,
  CloseCircleOutlined,
  EditOutlined,
  EyeOutlined,
  FileOutlined,
  StopOutlined,
} from '@ant-design/icons';
import { Tag } from 'antd';
import type { ReactNode } from 'react';
import type { UploadedApp, UploadedVersion, VersionStatus } from '@/api/types';
import { Note } from '@/features/billing/dialog';
import { type Texts, useTexts } from './texts';

type TagStyle = [color: 'success' | 'warning' | 'error' | 'default' | 'processing', icon: ReactNode];

const STATUSES: Record<VersionStatus, TagStyle> = {
  DRAFT: ['default', <FileOutlined key="draft" aria-hidden="true" />],
  PENDING_REVIEW: ['warning', <ClockCircleOutlined key="pending" aria-hidden="true" />],
  IN_REVIEW: ['warning', <EyeOutlined key="review" aria-hidden="true" />],
  APPROVED: ['success', <CheckCircleOutlined key="approved" aria-hidden="true" />],
  REJECTED: ['error', <CloseCircleOutlined key="rejected" aria-hidden="true" />],
  PUBLISHED: ['success', <CheckCircleOutlined key="published" aria-hidden="true" />],
  CANCELLED: ['default', <StopOutlined key="cancelled" aria-hidden="true" />],
};
const YANKED: TagStyle = ['default', <StopOutlined key="yanked" aria-hidden="true" />];
const CHANGES: TagStyle = ['warning', <EditOutlined key="changes" aria-hidden="true" />];

/** The status of a version; one in review whose developer has to act is named as such. */
export function VersionTag({
  version,
}: {
  version: Pick<UploadedVersion, 'status' | 'changes_requested' | 'yanked_by'>;
}) {
  const { t } = useTexts();
  const isChanges = version.status === 'IN_REVIEW' && version.changes_requested;
  const [color, icon] = isChanges ? CHANGES : version.yanked_by ? YANKED : STATUSES[version.status];
  return (
    <Tag color={color} icon={icon} variant="filled">
      {t(isChanges ? 'status.CHANGES_REQUESTED' : version.yanked_by ? 'status.YANKED' : `status.${version.status}`)}
    </Tag>
  );
}

/** The reason that the store itself gives (`publishing/staking/app_deposit`); administrators write the others. */
const STAKE_REVOKED = 'publish stake revoked by developer';

/** The reason of a block in the language of the page, if it is the store's own. */
export const blockReason = (reason: string, t: Texts['t']): string =>
  reason === STAKE_REVOKED ? t('app.stakeRevoked') : reason;

/** That an app is blocked, and why; nothing if it is not. */
export function BlockedNote({ app }: { app: UploadedApp }) {
  const { t } = useTexts();
  if (app.block_reason === null) return null;
  const reason = blockReason(app.block_reason, t);
  return <Note type="error" title={t('app.blockedText')} description={t('app.blockedBecause', { reason })} />;
}

/** That an app is blocked; nothing if it is not. */
export function BlockedTag({ app }: { app: UploadedApp }) {
  const { t } = useTexts();
  if (app.block_reason === null) return null;
  return (
    <Tag color="error" icon={<StopOutlined aria-hidden="true" />} variant="filled">
      {t('app.blocked')}
    </Tag>
  );
}

import { useMutation } from '@tanstack/react-query';
import { Button, Flex, Typography } from 'antd';
import { useEffect, useRef } from 'react';
import { ApiError } from '@/api/error';
import type { SessionUser } from '@/api/types';
import { queryClient, sessionQuery } from '@/app/queries';
import { ActionError } from '@/features/billing/action-error';
import { useTexts } from '@/features/billing/texts';
import { loadErrorMessages } from '@/i18n/translate';
import { removePicture, uploadPicture } from './picture';

/** The limit of the server, in MiB. */
const MAX_MB = 1;
const ACCEPTED = 'image/png,image/jpeg,image/webp';

/** Refuses a large file as the server does, which may end the connection before the browser has sent all of it. */
async function upload(file: File) {
  if (file.size <= MAX_MB * 1_048_576) return uploadPicture(file);
  await loadErrorMessages();
  const error = `The picture is larger than ${MAX_MB} MB`;
  throw new ApiError(error, 413, { error, code: 'PICTURE_TOO_LARGE', params: { max: String(MAX_MB) } });
}

/** Uploads and removes the user's picture. Every place that shows the user gets the new one from the session. */
export function ProfilePicture({ user }: { user: SessionUser }) {
  const { t } = useTexts();
  const input = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  /** A file replaces the picture, null removes it. */
  const change = useMutation({
    mutationFn: (file: File | null) => (file ? upload(file) : removePicture()),
    onSuccess: (session) => queryClient.setQueryData(sessionQuery.queryKey, session),
  });
  const isUploading = change.isPending && change.variables !== null;
  const isRemoving = change.isPending && change.variables === null;
  const isRemoved = change.isSuccess && change.variables === null;
  const done = isRemoved ? t('profile.pictureRemoved') : t('profile.pictureSaved');
  const status = isUploading ? t('profile.pictureUploading') : change.isSuccess ? done : '';

  // The button that removes the picture has gone, and the focus with it.
  useEffect(() => {
    if (isRemoved) button.current?.focus();
  }, [isRemoved]);

  return (
    <Flex vertical gap={8} align="flex-start">
      <input
        ref={input}
        type="file"
        accept={ACCEPTED}
        hidden
        aria-label={t('profile.pictureUpload')}
        onChange={({ target }) => {
          const file = target.files?.[0];
          // Choosing the same file again is a change, too.
          target.value = '';
          if (file) change.mutate(file);
        }}
      />
      <Flex gap={8} align="center" wrap>
        <Button ref={button} loading={isUploading} disabled={isRemoving} onClick={() => input.current?.click()}>
          {t('profile.pictureUpload')}
        </Button>
        {user.hasPicture ? (
          <Button loading={isRemoving} disabled={isUploading} onClick={() => change.mutate(null)}>
            {t('profile.pictureRemove')}
          </Button>
        ) : null}
        <span role="status">{status}</span>
      </Flex>
      <Typography.Text type="secondary">{t('profile.pictureHint')}</Typography.Text>
      <ActionError title={t('profile.pictureFailed')} action={change} />
    </Flex>
  );
}

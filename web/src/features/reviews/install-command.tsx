import { Flex, Typography } from 'antd';
import { mountPrefix } from '@/api/client';
import type { VersionReview } from '@/api/types';
import { Copyable } from '@/app/copyable';
import { useTexts } from './texts';

/** The command that installs a version, with what it needs if the version is not published. A blocked or withdrawn version has none. */
export function InstallCommand({ review: { app, version } }: { review: VersionReview }) {
  const { t } = useTexts();
  if (app.block_reason !== null || version.yanked_by !== null) return null;
  const store = `${window.location.origin}${mountPrefix()}`;
  return (
    <Flex vertical gap={8}>
      <Copyable label={t('version.install')} value={`souk install ${app.did}@${version.version} --store ${store}`} />
      {version.status === 'PUBLISHED' ? null : (
        <>
          <Typography.Text type="secondary">{t('version.notPublished')}</Typography.Text>
          <Copyable label={t('version.signIn')} value={`souk login ${store}`} />
        </>
      )}
    </Flex>
  );
}

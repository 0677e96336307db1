import { BackLink } from '@/features/billing/back-link';
import { useTexts } from '@/features/reviews/texts';
import { VersionView } from '@/features/reviews/version-view';
import { RequireReviewer } from './require-reviewer';

/** A version that reviewers judge. */
export function ReviewPage({ did, version }: { did: string; version: string }) {
  const { t } = useTexts();
  return (
    <RequireReviewer>
      <VersionView
        key={`${did} ${version}`}
        did={did}
        version={version}
        back={<BackLink to="/console/reviews">{t('queue.title')}</BackLink>}
      />
    </RequireReviewer>
  );
}

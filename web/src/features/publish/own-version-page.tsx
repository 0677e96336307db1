import { BackLink } from '@/features/billing/back-link';
import { useTexts } from '@/features/reviews/texts';
import { VersionView } from '@/features/reviews/version-view';
import { RequireDeveloper } from './require-developer';

/** A version of the signed-in developer with its review. */
export function OwnVersionPage({ did, version }: { did: string; version: string }) {
  const { t } = useTexts();
  return (
    <RequireDeveloper>
      <VersionView
        key={`${did} ${version}`}
        did={did}
        version={version}
        back={
          <BackLink to="/developer/apps/$did" params={{ did }}>
            {t('versions.title')}
          </BackLink>
        }
      />
    </RequireDeveloper>
  );
}

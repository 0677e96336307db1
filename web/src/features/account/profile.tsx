import { avatarAddress } from '@/api/session';
import type { SessionUser } from '@/api/types';
import { Copyable } from '@/app/copyable';
import { Guarded } from '@/app/guarded';
import { useTexts } from '@/app/i18n';
import { usePageTitle } from '@/app/page';
import { useUser } from '@/app/queries';
import { ContactForm } from './contact-form';
import styles from './profile.module.css';

/** One's own profile, or what can be seen of somebody else: name, picture, identifier. */
export function Profile({ did, name }: { did?: string; name?: string }) {
  const user = useUser();
  if (did && did !== user?.did) return <Stranger did={did} name={name} />;
  return <Guarded>{user ? <Own user={user} /> : null}</Guarded>;
}

function Own({ user }: { user: SessionUser }) {
  const { t } = useTexts();
  usePageTitle(t('profile.title'));
  return (
    <div className={styles.profile}>
      <h1 className="unseen">{t('profile.title')}</h1>
      <div className={styles.person}>
        <img src={user.avatar || avatarAddress(user.did, 72)} alt="" width={72} height={72} />
        <div>
          <p className={styles.name}>{user.fullName}</p>
          <p className={styles.role}>{t(`profile.role.${user.role || 'none'}`)}</p>
        </div>
      </div>
      <Copyable label={t('profile.did')} value={user.did} />
      <ContactForm />
    </div>
  );
}

function Stranger({ did, name }: { did: string; name?: string }) {
  const { t } = useTexts();
  const shown = name || `${did.slice(0, 8)}…${did.slice(-6)}`;
  usePageTitle(t('profile.of', { name: shown }));
  return (
    <div className={styles.profile}>
      <div className={styles.person}>
        <img src={avatarAddress(did, 72)} alt="" width={72} height={72} />
        <h1 className={styles.name}>{shown}</h1>
      </div>
      <Copyable label={t('profile.did')} value={did} />
    </div>
  );
}

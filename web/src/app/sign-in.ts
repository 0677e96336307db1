import { logout } from '@/api/session';
import { queryClient } from '@/app/queries';
import { translator } from '@/i18n/light';

/** Common texts only. */
const t = translator({ en: {}, zh: {} });

/** Opens the sign-in dialog. Afterwards all queries are refetched for the new user. */
export async function signIn(onSuccess?: () => void, onClose?: () => void): Promise<void> {
  const { openConnect } = await import('@/features/connect');
  openConnect({
    action: 'login',
    title: t('session.connect'),
    onSuccess: () => {
      void queryClient.invalidateQueries().then(() => onSuccess?.());
    },
    onClose,
  });
}

/** Loads the home page anew, so that no data of the former user stays in memory. */
export async function signOut(): Promise<void> {
  await logout();
  window.location.assign('/');
}

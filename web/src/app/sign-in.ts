import { logout } from '@/api/session';
import { queryClient } from '@/app/queries';

/** Opens the wallet dialog; afterwards everything on the page is asked again as the one who signed in. */
export async function signIn(onSuccess?: () => void, onClose?: () => void): Promise<void> {
  const { openConnect } = await import('@/features/connect');
  openConnect({
    action: 'login',
    onSuccess: () => {
      void queryClient.invalidateQueries().then(() => onSuccess?.());
    },
    onClose,
  });
}

/** Leaves to the root as a fresh page, so that nothing of the former user stays in memory. */
export async function signOut(): Promise<void> {
  await logout();
  window.location.assign('/');
}

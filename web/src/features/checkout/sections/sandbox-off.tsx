import { useEffect } from 'react';
import { t } from '@/features/card/text';
import { EmptyState } from './states';

/** Nobody can pay the order, because the sandbox is off. Loaded when needed, because few stores show it. */
export default function SandboxOff() {
  const title = t('sandboxOffTitle');
  useEffect(() => {
    document.title = title;
  }, [title]);
  return <EmptyState title={title} text={t('sandboxOffText')} />;
}

import { Link } from '@tanstack/react-router';
import { Button, Drawer } from 'antd';
import { type ReactNode, useState, useSyncExternalStore } from 'react';
import { useUser } from '@/app/queries';
import { livemode, onLivemode } from '@/lib/livemode';
import { usePhone } from '@/lib/use-phone';
import styles from './console-layout.module.css';
import { type VisibleGroup, visibleNav } from './console-nav';
import { useTexts } from './texts';

/** The frame of the console's pages: the navigation to the pages of the user's roles. On a phone it opens as a drawer. */
export function ConsoleLayout({ children }: { children: ReactNode }) {
  const { t } = useTexts();
  const user = useUser();
  const live = useSyncExternalStore(onLivemode, livemode);
  const phone = usePhone();
  const [open, setOpen] = useState(false);
  const groups = visibleNav(user, live);
  // Other users see the refusal of the page only.
  if (groups.length === 0) return children;
  // The page keeps its place in the tree, so that a dialog stays open when the window is resized.
  return (
    <div className={phone ? undefined : styles.layout}>
      {phone ? (
        <>
          <Button className={styles.menu} aria-haspopup="dialog" aria-expanded={open} onClick={() => setOpen(true)}>
            {t('nav.menu')}
          </Button>
          <Drawer
            open={open}
            onClose={() => setOpen(false)}
            placement="left"
            size={300}
            title={t('nav.menu')}
            closable={{ 'aria-label': t('nav.close') }}
          >
            <Nav groups={groups} onChoose={() => setOpen(false)} />
          </Drawer>
        </>
      ) : (
        <Nav groups={groups} />
      )}
      <div className={styles.page}>{children}</div>
    </div>
  );
}

function Nav({ groups, onChoose }: { groups: VisibleGroup[]; onChoose?: () => void }) {
  const { t } = useTexts();
  return (
    <nav aria-label={t('nav.label')} className={styles.nav}>
      {groups.map(({ key, entries }) => (
        <div key={key}>
          <p id={`nav-${key}`}>{t(`nav.group.${key}`)}</p>
          <ul aria-labelledby={`nav-${key}`}>
            {entries.map((entry) => (
              <li key={entry.to}>
                <Link to={entry.to} onClick={onChoose}>
                  {t(`nav.${entry.key}`)}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

import { Link, useNavigate } from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import { avatarUrl } from '@/api/session';
import { useTexts } from '@/app/i18n';
import { Logo } from '@/app/logo';
import { Menu, type MenuEntry } from '@/app/menu';
import { useStore, useUser } from '@/app/queries';
import { SearchBox } from '@/app/search-box';
import { signIn, signOut } from '@/app/sign-in';
import { switchMode } from '@/app/switch-mode';
import { Button } from '@/kit/button';
import { Check, Moon, Sun } from '@/kit/icons';
import { Bag, Boxes, Flask, Globe, Key, Logout, Shield, Sliders, User } from '@/kit/store-icons';
import { livemode, onLivemode } from '@/lib/livemode';
import { type Locale, setLocale } from '@/lib/locale';
import { isAdmin } from '@/lib/roles';
import { onTheme, setTheme, type ThemeChoice, theme, themeChoice } from '@/lib/theme';
import styles from './header.module.css';

export function Header() {
  const { t } = useTexts();
  const store = useStore();
  const name = store?.name ?? 'Souk';
  return (
    <header className={styles.header}>
      <div className={styles.row}>
        <Link to="/" className={styles.brand} aria-label={t('header.home', { name })}>
          {store?.logo ? <img src={store.logo} alt="" width={32} height={32} /> : <Logo />}
          <span className={styles.name}>{name}</span>
        </Link>
        <SearchBox />
        <div className={styles.tools}>
          <LanguageMenu />
          <ThemeMenu />
          <ModeMenu />
          <AccountMenu />
        </div>
      </div>
    </header>
  );
}

/** Menu entries. The current one has a check mark: color alone must not carry state. */
function choices<K extends string>(entries: [K, string][], current: K): MenuEntry<K>[] {
  return entries.map(([key, label]) => ({
    key,
    label: <span lang={key === 'en' || key === 'zh' ? key : undefined}>{label}</span>,
    icon: <Check size="1em" style={{ visibility: key === current ? 'visible' : 'hidden' }} />,
    current: key === current,
  }));
}

function LanguageMenu() {
  const { t, language } = useTexts();
  const entries: [Locale, string][] = [
    ['en', t('language.en')],
    ['zh', t('language.zh')],
  ];
  return (
    <Menu
      label={`${t('language.label')}: ${t(`language.${language}`)}`}
      className={styles.tool}
      button={
        <>
          <Globe />
          <span className={styles.wide}>{language === 'zh' ? '中文' : 'EN'}</span>
        </>
      }
      entries={choices(entries, language)}
      onChoose={setLocale}
    />
  );
}

function ThemeMenu() {
  const { t } = useTexts();
  const currentTheme = useSyncExternalStore(onTheme, theme);
  const choice = useSyncExternalStore(onTheme, themeChoice);
  const entries: [ThemeChoice, string][] = [
    ['light', t('theme.light')],
    ['dark', t('theme.dark')],
    ['system', t('theme.system')],
  ];
  return (
    <Menu
      label={`${t('theme.label')}: ${t(`theme.${choice}`)}`}
      className={styles.tool}
      button={currentTheme === 'dark' ? <Moon size="1em" /> : <Sun size="1em" />}
      entries={choices(entries, choice)}
      onChoose={setTheme}
    />
  );
}

function ModeMenu() {
  const { t } = useTexts();
  const live = useSyncExternalStore(onLivemode, livemode);
  const current = live ? 'live' : 'test';
  const entries: ['test' | 'live', string][] = [
    ['test', t('mode.test')],
    ['live', t('mode.live')],
  ];
  return (
    <Menu
      label={t('header.mode', { mode: t(`mode.${current}`) })}
      className={`${styles.tool} ${live ? '' : styles.test}`}
      button={
        <>
          <Flask />
          <span className={styles.widest}>{t(`mode.${current}`)}</span>
        </>
      }
      entries={choices(entries, current)}
      onChoose={(key) => switchMode(key === 'live')}
    />
  );
}

type AccountPage =
  | '/customer'
  | '/customer/security'
  | '/profile'
  | '/console'
  | '/developer/apps'
  | '/developer/access-tokens';

function AccountMenu() {
  const { t } = useTexts();
  const user = useUser();
  const navigate = useNavigate();
  if (user === undefined) return <span className={styles.accountSpace} aria-hidden="true" />;
  if (user === null) {
    return (
      <Button variant="primary" onClick={() => void signIn()}>
        {t('session.connect')}
      </Button>
    );
  }
  const holds = (wanted: string) => user.passports.some(({ role }) => role === wanted);
  const entries: MenuEntry<AccountPage | 'logout'>[] = [
    { key: '/customer', icon: <Bag />, label: t('header.portal') },
    ...(isAdmin(user) || holds('reviewer')
      ? [{ key: '/console' as const, icon: <Sliders />, label: t('header.console') }]
      : []),
    ...(holds('developer')
      ? [
          { key: '/developer/apps' as const, icon: <Boxes />, label: t('header.apps') },
          { key: '/developer/access-tokens' as const, icon: <Key />, label: t('header.accessTokens') },
        ]
      : []),
    { key: '/profile', icon: <User />, label: t('header.profile') },
    { key: '/customer/security', icon: <Shield />, label: t('header.security') },
    { key: 'logout', icon: <Logout />, label: t('session.logout'), divided: true },
  ];
  return (
    <Menu
      label={t('header.account', { name: user.fullName })}
      className={styles.account}
      button={<img src={user.avatar || avatarUrl(user.did, 32)} alt="" width={32} height={32} />}
      entries={entries}
      onChoose={(key) => void (key === 'logout' ? signOut() : navigate({ to: key }))}
    />
  );
}

import {
  CheckOutlined,
  ExperimentOutlined,
  GlobalOutlined,
  LogoutOutlined,
  MoonOutlined,
  ShoppingOutlined,
  SunOutlined,
  UserOutlined,
} from '@ant-design/icons';
import { Link, useNavigate } from '@tanstack/react-router';
import { Button, Dropdown, type MenuProps } from 'antd';
import { useSyncExternalStore } from 'react';
import { avatarAddress } from '@/api/session';
import { useTexts } from '@/app/i18n';
import { Mark } from '@/app/mark';
import { useStore, useUser } from '@/app/queries';
import { SearchBox } from '@/app/search-box';
import { signIn, signOut } from '@/app/sign-in';
import { switchMode } from '@/app/switch-mode';
import { livemode, onLivemode } from '@/lib/livemode';
import { setLocale } from '@/lib/locale';
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
          {store?.logo ? <img src={store.logo} alt="" width={32} height={32} /> : <Mark />}
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

/** A menu whose current entry carries a check mark: state is never colour alone. */
function choices<K extends string>(entries: [K, string][], current: K): MenuProps['items'] {
  return entries.map(([key, label]) => ({
    key,
    label: <span lang={key === 'en' || key === 'zh' ? key : undefined}>{label}</span>,
    icon: <CheckOutlined style={{ visibility: key === current ? 'visible' : 'hidden' }} />,
  }));
}

function LanguageMenu() {
  const { t, language } = useTexts();
  const entries: ['en' | 'zh', string][] = [
    ['en', t('language.en')],
    ['zh', t('language.zh')],
  ];
  return (
    <Dropdown
      trigger={['click']}
      menu={{
        items: choices(entries, language),
        selectedKeys: [language],
        onClick: ({ key }) => setLocale(key as 'en' | 'zh'),
      }}
    >
      <Button
        type="text"
        icon={<GlobalOutlined />}
        aria-label={`${t('language.label')}: ${t(`language.${language}`)}`}
        aria-haspopup="menu"
      >
        <span className={styles.wide}>{language === 'zh' ? '中文' : 'EN'}</span>
      </Button>
    </Dropdown>
  );
}

function ThemeMenu() {
  const { t } = useTexts();
  const shown = useSyncExternalStore(onTheme, theme);
  const choice = useSyncExternalStore(onTheme, themeChoice);
  const entries: [ThemeChoice, string][] = [
    ['light', t('theme.light')],
    ['dark', t('theme.dark')],
    ['system', t('theme.system')],
  ];
  return (
    <Dropdown
      trigger={['click']}
      menu={{
        items: choices(entries, choice),
        selectedKeys: [choice],
        onClick: ({ key }) => setTheme(key as ThemeChoice),
      }}
    >
      <Button
        type="text"
        icon={shown === 'dark' ? <MoonOutlined /> : <SunOutlined />}
        aria-label={`${t('theme.label')}: ${t(`theme.${choice}`)}`}
        aria-haspopup="menu"
      />
    </Dropdown>
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
    <Dropdown
      trigger={['click']}
      menu={{
        items: choices(entries, current),
        selectedKeys: [current],
        onClick: ({ key }) => switchMode(key === 'live'),
      }}
    >
      <Button
        type="text"
        className={live ? undefined : styles.test}
        icon={<ExperimentOutlined />}
        aria-label={t('header.mode', { mode: t(`mode.${current}`) })}
        aria-haspopup="menu"
      >
        <span className={styles.widest}>{t(`mode.${current}`)}</span>
      </Button>
    </Dropdown>
  );
}

function AccountMenu() {
  const { t } = useTexts();
  const user = useUser();
  const navigate = useNavigate();
  if (user === undefined) return <span className={styles.accountSpace} aria-hidden="true" />;
  if (user === null) {
    return (
      <Button type="primary" onClick={() => void signIn()}>
        {t('session.connect')}
      </Button>
    );
  }
  const items: MenuProps['items'] = [
    { key: '/customer', icon: <ShoppingOutlined />, label: t('header.portal') },
    { key: '/profile', icon: <UserOutlined />, label: t('header.profile') },
    { type: 'divider' },
    { key: 'logout', icon: <LogoutOutlined />, label: t('session.logout') },
  ];
  const onClick: MenuProps['onClick'] = ({ key }) => {
    if (key === 'logout') void signOut();
    else void navigate({ to: key });
  };
  return (
    <Dropdown trigger={['click']} menu={{ items, onClick }}>
      <button
        type="button"
        className={styles.account}
        aria-label={t('header.account', { name: user.fullName })}
        aria-haspopup="menu"
      >
        <img src={user.avatar || avatarAddress(user.did, 32)} alt="" width={32} height={32} />
      </button>
    </Dropdown>
  );
}

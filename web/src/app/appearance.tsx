import { ConfigProvider, type ThemeConfig, theme as themes } from 'antd';
import type { Locale as AntdLocale } from 'antd/es/locale';
import enUS from 'antd/es/locale/en_US';
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { useTexts } from '@/app/i18n';
import { onTheme, type Theme, theme } from '@/lib/theme';

/** antd's tokens from the same variables that the light half reads, so that the two halves cannot drift apart. */
function tokens(current: Theme): ThemeConfig {
  const style = getComputedStyle(document.documentElement);
  const variable = (name: string, otherwise: string) => style.getPropertyValue(name).trim() || otherwise;
  const accent = variable('--accent', '#0b6e63');
  const accentStrong = variable('--accent-strong', '#085a51');
  const danger = variable('--danger', '#b42318');
  const text2 = variable('--text-2', '#5c5a55');
  const exact = {
    colorPrimary: accent,
    colorPrimaryHover: accentStrong,
    colorPrimaryActive: accentStrong,
    colorLink: accent,
    colorLinkHover: accentStrong,
    colorError: danger,
    colorErrorText: danger,
    colorSuccess: variable('--ok', '#1a7f37'),
    colorWarning: variable('--warn', '#8a5a00'),
    colorBgLayout: variable('--ground', '#faf9f7'),
    colorBgContainer: variable('--surface', '#ffffff'),
    colorBgElevated: variable('--surface', '#ffffff'),
    colorText: variable('--text', '#1d1c1a'),
    colorTextHeading: variable('--text', '#1d1c1a'),
    colorTextSecondary: text2,
    colorTextDescription: text2,
    colorTextPlaceholder: text2,
    colorBorder: variable('--edge', '#8f8b84'),
    colorBorderSecondary: variable('--line', '#e4e1db'),
    colorSplit: variable('--line', '#e4e1db'),
    controlItemBgActive: variable('--accent-soft', '#e3f0ee'),
    controlItemBgHover: variable('--surface-2', '#f3f1ed'),
  };
  const base = current === 'dark' ? themes.darkAlgorithm : themes.defaultAlgorithm;
  return {
    // The algorithms would mix colours of their own from ours; the exact ones are the ones whose contrast was measured.
    algorithm: (seed, map) => ({ ...base(seed, map), ...exact }),
    token: {
      colorPrimary: accent,
      fontFamily: variable('--font', 'system-ui, sans-serif'),
      fontSize: 15,
      borderRadius: 8,
      controlHeight: 44,
      motion: !window.matchMedia('(prefers-reduced-motion: reduce)').matches,
    },
    components: {
      Button: {
        primaryColor: variable('--on-accent', '#ffffff'),
        primaryShadow: 'none',
        defaultShadow: 'none',
        fontWeight: 600,
      },
      Segmented: { trackBg: variable('--surface-2', '#f3f1ed'), itemColor: text2, itemSelectedColor: accent },
    },
  };
}

export function Appearance({ children }: { children: ReactNode }) {
  const { language } = useTexts();
  const current = useSyncExternalStore(onTheme, theme);
  const [words, setWords] = useState<AntdLocale>(enUS);

  useEffect(() => {
    let wanted = true;
    if (language === 'en') setWords(enUS);
    else import('antd/es/locale/zh_CN').then(({ default: zhCN }) => wanted && setWords(zhCN));
    return () => {
      wanted = false;
    };
  }, [language]);

  return (
    <ConfigProvider button={{ autoInsertSpace: false }} locale={words} theme={tokens(current)}>
      {children}
    </ConfigProvider>
  );
}

import { App, ConfigProvider, type ThemeConfig, theme as themes } from 'antd';
import type { Locale as AntdLocale } from 'antd/es/locale';
import enUS from 'antd/es/locale/en_US';
import dayjs from 'dayjs';
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { useTexts } from '@/app/i18n';
import { onTheme, type Theme, theme } from '@/lib/theme';
import { usePhone } from '@/lib/use-phone';
import './antd.css';

/** Maps the CSS variables of theme.css to antd's tokens. */
function tokens(current: Theme, phone: boolean): ThemeConfig {
  const style = getComputedStyle(document.documentElement);
  const variable = (name: string, fallback: string) => style.getPropertyValue(name).trim() || fallback;
  const accent = variable('--accent', '#0b6e63');
  const accentStrong = variable('--accent-strong', '#085a51');
  const danger = variable('--danger', '#b42318');
  const dangerStrong = variable('--danger-strong', '#8f1c13');
  const text2 = variable('--text-2', '#5c5a55');
  const overrides = {
    colorPrimary: accent,
    colorPrimaryHover: accentStrong,
    colorPrimaryActive: accentStrong,
    colorLink: accent,
    colorLinkHover: accentStrong,
    colorError: danger,
    colorErrorHover: dangerStrong,
    colorErrorActive: dangerStrong,
    colorErrorBorderHover: dangerStrong,
    colorErrorText: danger,
    colorErrorTextHover: dangerStrong,
    colorErrorTextActive: dangerStrong,
    colorSuccess: variable('--ok', '#1a7f37'),
    colorWarning: variable('--warn', '#8a5a00'),
    colorBgLayout: variable('--ground', '#faf9f7'),
    colorBgContainer: variable('--surface', '#ffffff'),
    colorBgElevated: variable('--surface', '#ffffff'),
    colorText: variable('--text', '#1d1c1a'),
    colorTextHeading: variable('--text', '#1d1c1a'),
    colorTextSecondary: text2,
    colorTextTertiary: text2,
    // Switches that are off, arrows of selects, and disabled texts.
    colorTextQuaternary: variable('--edge', '#8f8b84'),
    colorInfo: accent,
    colorInfoText: accent,
    colorInfoBg: variable('--accent-soft', '#e3f0ee'),
    colorInfoBorder: accent,
    colorErrorBg: variable('--danger-soft', '#fdeeec'),
    colorErrorBorder: danger,
    colorWarningBg: variable('--warn-soft', '#fbf1dc'),
    colorWarningBorder: variable('--warn', '#8a5a00'),
    colorWarningText: variable('--warn', '#8a5a00'),
    colorSuccessBg: variable('--ok-soft', '#eff8f1'),
    colorSuccessBorder: variable('--ok', '#1a7f37'),
    colorSuccessText: variable('--ok', '#1a7f37'),
    colorBorder: variable('--edge', '#8f8b84'),
    colorBorderSecondary: variable('--line', '#e4e1db'),
    colorSplit: variable('--line', '#e4e1db'),
    controlItemBgActive: variable('--accent-soft', '#e3f0ee'),
    controlItemBgHover: variable('--surface-2', '#f3f1ed'),
  };
  const base = current === 'dark' ? themes.darkAlgorithm : themes.defaultAlgorithm;
  return {
    // The algorithm would derive other colors from these, with unknown contrast.
    algorithm: (seed, map) => ({ ...base(seed, map), ...overrides }),
    token: {
      colorPrimary: accent,
      colorTextDescription: text2,
      colorTextPlaceholder: text2,
      // A loading button keeps the contrast of its label.
      opacityLoading: 1,
      fontFamily: variable('--font', 'system-ui, sans-serif'),
      fontSize: 15,
      borderRadius: 8,
      controlHeight: 44,
      motion: !window.matchMedia('(prefers-reduced-motion: reduce)').matches,
    },
    components: {
      Button: {
        primaryColor: variable('--on-accent', '#ffffff'),
        dangerColor: variable('--on-danger', '#ffffff'),
        primaryShadow: 'none',
        dangerShadow: 'none',
        defaultShadow: 'none',
        fontWeight: 600,
        // Small buttons are large enough for touch there.
        ...(phone ? { controlHeightSM: 44 } : {}),
      },
      Typography: {
        titleMarginTop: 0,
        titleMarginBottom: '0.5em',
        fontSizeHeading1: 28,
        fontSizeHeading2: 22,
        fontSizeHeading3: 18,
        fontSizeHeading4: 15,
      },
      Result: { titleFontSize: 28 },
      Segmented: { trackBg: variable('--surface-2', '#f3f1ed'), itemColor: text2, itemSelectedColor: accent },
    },
  };
}

/** The distance of messages from the top: the header and the test mode bar stay visible. */
const BELOW_HEADER = { desktop: 104, phone: 144 };

/** Provides antd's theme, locale and messages. */
export function ThemeProvider({ children }: { children: ReactNode }) {
  const { language } = useTexts();
  const phone = usePhone();
  const current = useSyncExternalStore(onTheme, theme);
  const [locale, setLocale] = useState<AntdLocale>(enUS);

  useEffect(() => {
    let isCurrent = true;
    if (language === 'en') {
      dayjs.locale('en');
      setLocale(enUS);
    } else {
      // The date picker also needs the names of days and months.
      Promise.all([import('antd/es/locale/zh_CN'), import('dayjs/locale/zh-cn')]).then(([{ default: zhCN }]) => {
        if (!isCurrent) return;
        dayjs.locale('zh-cn');
        setLocale(zhCN);
      });
    }
    return () => {
      isCurrent = false;
    };
  }, [language]);

  return (
    <ConfigProvider button={{ autoInsertSpace: false }} locale={locale} theme={tokens(current, phone)}>
      <App component={false} message={{ top: phone ? BELOW_HEADER.phone : BELOW_HEADER.desktop }}>
        {children}
      </App>
    </ConfigProvider>
  );
}

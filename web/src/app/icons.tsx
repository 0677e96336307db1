import type { SVGProps } from 'react';
import styles from './icons.module.css';

type IconProps = SVGProps<SVGSVGElement>;

/** As large as the text beside it. Hidden from screen readers unless it carries a label of its own. */
function Icon({ children, className = '', ...rest }: IconProps) {
  const spoken = rest['aria-label'] ? { role: 'img', 'aria-hidden': undefined } : {};
  return (
    <svg
      viewBox="1 1 18 18"
      width="1em"
      height="1em"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
      className={`${styles.icon} ${className}`}
      {...rest}
      {...spoken}
    >
      {children}
    </svg>
  );
}

export const CheckIcon = (props: IconProps) => (
  <Icon {...props}>
    <path d="m3 10.5 5 5 9-11" />
  </Icon>
);
export const CheckCircleIcon = (props: IconProps) => (
  <Icon {...props}>
    <circle cx="10" cy="10" r="8.9" fill="currentColor" stroke="none" />
    <path d="m6.4 10.2 2.5 2.6 4.7-5.6" stroke="var(--surface)" strokeWidth="1.6" />
  </Icon>
);
export const CloseIcon = (props: IconProps) => (
  <Icon {...props}>
    <path d="m4 4 12 12M16 4 4 16" />
  </Icon>
);
export const CopyIcon = (props: IconProps) => (
  <Icon {...props}>
    <rect x="6.5" y="6.5" width="10.5" height="11" rx="1.4" />
    <path d="M13.5 6.5V4.4A1.4 1.4 0 0 0 12.1 3H4.4A1.4 1.4 0 0 0 3 4.4v8.7a1.4 1.4 0 0 0 1.4 1.4h2.1" />
  </Icon>
);
export const DownloadIcon = (props: IconProps) => (
  <Icon {...props}>
    <path d="M10 3v9.5M6.4 9l3.6 3.6L13.6 9M2.5 12.8v3.7h15v-3.7" />
  </Icon>
);
export const FlaskIcon = (props: IconProps) => (
  <Icon {...props}>
    <path d="M6 2.5h8M7.6 2.5v5L3.2 16a1.1 1.1 0 0 0 1 1.5h11.6a1.1 1.1 0 0 0 1-1.5l-4.4-8.5v-5M5 12.5c3-1.6 4.5 1.6 9.6-.4" />
  </Icon>
);
export const GlobeIcon = (props: IconProps) => (
  <Icon {...props}>
    <circle cx="10" cy="10" r="7.7" />
    <path d="M2.3 10h15.4M3.6 6h12.8M3.6 14h12.8M10 2.3c-4.4 4.8-4.4 10.6 0 15.4 4.4-4.8 4.4-10.6 0-15.4Z" />
  </Icon>
);
export const LeftIcon = (props: IconProps) => (
  <Icon {...props}>
    <path d="m13 3-7 7 7 7" />
  </Icon>
);
export const LogoutIcon = (props: IconProps) => (
  <Icon {...props}>
    <path d="M13.5 5.2A7 7 0 1 0 13.5 14.8M8.5 10h9M15 7.2l2.8 2.8-2.8 2.8" />
  </Icon>
);
export const MoonIcon = (props: IconProps) => (
  <Icon {...props}>
    <path d="M16.8 12A7.2 7.2 0 0 1 8 3.2a7.2 7.2 0 1 0 8.8 8.8Z" />
  </Icon>
);
export const RightIcon = (props: IconProps) => (
  <Icon {...props}>
    <path d="m7 3 7 7-7 7" />
  </Icon>
);
export const SearchIcon = (props: IconProps) => (
  <Icon {...props}>
    <circle cx="8.2" cy="8.2" r="5.7" />
    <path d="m12.4 12.4 5.1 5.1" strokeWidth="1.9" />
  </Icon>
);
export const ShieldIcon = (props: IconProps) => (
  <Icon {...props}>
    <path d="m10 1.8 7 2.6v6c0 3.6-3.2 6-7 7.8-3.8-1.8-7-4.2-7-7.8v-6ZM6.6 9.6l2.4 2.5 4.4-4.8" />
  </Icon>
);
export const ShoppingIcon = (props: IconProps) => (
  <Icon {...props}>
    <path d="M3 6.5h14v11H3ZM6.7 9V5.6a3.3 3.3 0 0 1 6.6 0V9" />
  </Icon>
);
export const SunIcon = (props: IconProps) => (
  <Icon {...props}>
    <circle cx="10" cy="10" r="3.9" />
    <path d="M10 1.6v1.6m0 13.6v1.6M1.6 10h1.6m13.6 0h1.6M4 4l1.2 1.2m9.6 9.6L16 16m0-12-1.2 1.2M5.2 14.8 4 16" />
  </Icon>
);
export const UserIcon = (props: IconProps) => (
  <Icon {...props}>
    <circle cx="10" cy="6.4" r="3.9" />
    <path d="M2.8 17.6a7.2 7.2 0 0 1 14.4 0" />
  </Icon>
);

import type { SVGProps } from 'react';

export interface IconProps extends SVGProps<SVGSVGElement> {
  /** `1em` matches the surrounding text. */
  size?: number | '1em';
}

/** Hidden from screen readers unless labeled, because icons accompany text. */
export function Icon({ children, size = 20, className, ...rest }: IconProps) {
  const label = rest['aria-label'] ? { role: 'img', 'aria-hidden': undefined } : {};
  return (
    <svg
      viewBox="0 0 20 20"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
      className={size === '1em' ? `k-icon-inline ${className ?? ''}` : className}
      {...rest}
      {...label}
    >
      {children}
    </svg>
  );
}

export const ArrowLeft = (props: IconProps) => (
  <Icon {...props}>
    <path d="M16 10H4m5-5-5 5 5 5" />
  </Icon>
);
export const Check = (props: IconProps) => (
  <Icon {...props}>
    <path d="m4 10.5 4 4 8-9" />
  </Icon>
);
export const Chevron = (props: IconProps) => (
  <Icon {...props}>
    <path d="m5 8 5 5 5-5" />
  </Icon>
);
export const Close = (props: IconProps) => (
  <Icon {...props}>
    <path d="m5 5 10 10M15 5 5 15" />
  </Icon>
);
export const Minus = (props: IconProps) => (
  <Icon {...props}>
    <path d="M5 10h10" />
  </Icon>
);
export const Plus = (props: IconProps) => (
  <Icon {...props}>
    <path d="M5 10h10M10 5v10" />
  </Icon>
);
export const Warning = (props: IconProps) => (
  <Icon {...props}>
    <path d="M10 3 2 17h16L10 3Zm0 5v4m0 2.5v.1" />
  </Icon>
);
export const Info = (props: IconProps) => (
  <Icon {...props}>
    <circle cx="10" cy="10" r="8" />
    <path d="M10 9v5m0-8v.1" />
  </Icon>
);
export const Wallet = (props: IconProps) => (
  <Icon {...props}>
    <path d="M3 6.5A2.5 2.5 0 0 1 5.5 4H15v3M3 6.5V14a2 2 0 0 0 2 2h12V7H4a1 1 0 0 1-1-.5ZM13.5 11.5h.1" />
  </Icon>
);
export const Card = (props: IconProps) => (
  <Icon {...props}>
    <rect x="2" y="4.5" width="16" height="11" rx="2" />
    <path d="M2 8.5h16M5 12.5h3" />
  </Icon>
);
export const Download = (props: IconProps) => (
  <Icon {...props}>
    <path d="M10 3v9m-4-4 4 4 4-4M4 16.5h12" />
  </Icon>
);
export const Moon = (props: IconProps) => (
  <Icon {...props}>
    <path d="M16.5 11.8A7 7 0 0 1 8.2 3.5a7 7 0 1 0 8.3 8.3Z" />
  </Icon>
);
export const Sun = (props: IconProps) => (
  <Icon {...props}>
    <circle cx="10" cy="10" r="3.5" />
    <path d="M10 2v1.5m0 13V18m8-8h-1.5M3.5 10H2m13.7-5.7-1.1 1.1M5.4 14.6l-1.1 1.1m11.4 0-1.1-1.1M5.4 5.4 4.3 4.3" />
  </Icon>
);

export const Spinner = () => (
  <svg className="k-spinner" viewBox="0 0 20 20" width="18" height="18" aria-hidden="true" focusable="false">
    <circle cx="10" cy="10" r="8" fill="none" stroke="currentColor" strokeWidth="2.4" opacity="0.25" />
    <path d="M10 2a8 8 0 0 1 8 8" fill="none" stroke="currentColor" strokeWidth="2.4" strokeLinecap="round" />
  </svg>
);

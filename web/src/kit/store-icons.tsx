import { Icon, type IconProps } from './icons';

/** Icons of the store pages, sized like the surrounding text. */
export const CheckCircle = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <circle cx="10" cy="10" r="8.9" fill="currentColor" stroke="none" />
    <path d="m6.4 10.2 2.5 2.6 4.7-5.6" stroke="var(--surface)" strokeWidth="1.6" />
  </Icon>
);
export const Copy = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <rect x="6.5" y="6.5" width="10.5" height="11" rx="1.4" />
    <path d="M13.5 6.5V4.4A1.4 1.4 0 0 0 12.1 3H4.4A1.4 1.4 0 0 0 3 4.4v8.7a1.4 1.4 0 0 0 1.4 1.4h2.1" />
  </Icon>
);
export const Flask = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <path d="M6 2.5h8M7.6 2.5v5L3.2 16a1.1 1.1 0 0 0 1 1.5h11.6a1.1 1.1 0 0 0 1-1.5l-4.4-8.5v-5M5 12.5c3-1.6 4.5 1.6 9.6-.4" />
  </Icon>
);
export const Globe = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <circle cx="10" cy="10" r="7.7" />
    <path d="M2.3 10h15.4M3.6 6h12.8M3.6 14h12.8M10 2.3c-4.4 4.8-4.4 10.6 0 15.4 4.4-4.8 4.4-10.6 0-15.4Z" />
  </Icon>
);
export const Key = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <circle cx="6.8" cy="13.2" r="4.1" />
    <path d="m9.8 10.2 7.4-7.4M14.4 5.6l2.4 2.4M11.8 8.2l1.7 1.7" />
  </Icon>
);
export const Boxes = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <path d="M3 3h5.5v5.5H3zM11.5 3H17v5.5h-5.5zM3 11.5h5.5V17H3zM11.5 11.5H17V17h-5.5z" />
  </Icon>
);
export const Sliders = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <path d="M2.5 6h8.2m4.6 0h2.2M2.5 14h2.2m4.6 0h8.2" />
    <circle cx="13" cy="6" r="2.3" />
    <circle cx="7" cy="14" r="2.3" />
  </Icon>
);
export const ChevronLeft = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <path d="m13 3-7 7 7 7" />
  </Icon>
);
export const Logout = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <path d="M13.5 5.2A7 7 0 1 0 13.5 14.8M8.5 10h9M15 7.2l2.8 2.8-2.8 2.8" />
  </Icon>
);
export const ChevronRight = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <path d="m7 3 7 7-7 7" />
  </Icon>
);
export const Search = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <circle cx="8.2" cy="8.2" r="5.7" />
    <path d="m12.4 12.4 5.1 5.1" strokeWidth="1.9" />
  </Icon>
);
export const Shield = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <path d="m10 1.8 7 2.6v6c0 3.6-3.2 6-7 7.8-3.8-1.8-7-4.2-7-7.8v-6ZM6.6 9.6l2.4 2.5 4.4-4.8" />
  </Icon>
);
export const Bag = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <path d="M3 6.5h14v11H3ZM6.7 9V5.6a3.3 3.3 0 0 1 6.6 0V9" />
  </Icon>
);
export const User = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <circle cx="10" cy="6.4" r="3.9" />
    <path d="M2.8 17.6a7.2 7.2 0 0 1 14.4 0" />
  </Icon>
);
export const Receipt = (props: IconProps) => (
  <Icon size="1em" {...props}>
    <path d="M4 2.5h12v15l-2.4-1.6-2.4 1.6-2.4-1.6L6.4 17.5 4 15.9ZM7 7h6M7 11h6" />
  </Icon>
);

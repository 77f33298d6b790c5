/** Line icons on a grid of 16, inline so that they need no request. */
const PATHS = {
  experiments: "M2 12.500c2.500 0 3-8 6-8s3.500 5 6 5M2 3v10.500h12",
  compare: "M3 13V7M7 13V3M11 13V9M15 13V5M1 13.500h14",
  cluster: "M2.500 3h4.500v4.500H2.500zM9 3h4.500v4.500H9zM2.500 9.500h4.500V14H2.500zM9 9.500h4.500V14H9z",
  models: "M8 1.800l5.500 3.100v6.200L8 14.200l-5.500-3.100V4.900zM2.700 5L8 8l5.300-3M8 8v6",
  admin: "M8 1.800l5 2v3.700c0 3.200-2.200 5.600-5 6.700-2.800-1.100-5-3.500-5-6.700V3.800zM6 8l1.500 1.500L10.300 6.500",
  search: "M7 12A5 5 0 107 2a5 5 0 000 10zM10.700 10.700L14 14",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.500l3.200 3L13 4.500",
  chevronDown: "M4 6l4 4 4-4",
  chevronRight: "M6 4l4 4-4 4",
  chevronLeft: "M10 4L6 8l4 4",
  arrowUp: "M8 13V3M4 7l4-4 4 4",
  arrowDown: "M8 3v10M4 9l4 4 4-4",
  sun: "M8 10.800a2.800 2.800 0 100-5.600 2.800 2.800 0 000 5.600zM8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1.100 1.100M11.900 11.900L13 13M13 3l-1.100 1.100M4.100 11.900L3 13",
  moon: "M13.500 9.500A6 6 0 016.500 2.500a6 6 0 107 7z",
  user: "M8 7.500A2.800 2.800 0 108 2a2.800 2.800 0 000 5.500zM2.800 14c.4-2.700 2.500-4.300 5.200-4.300s4.800 1.600 5.200 4.300",
  signOut: "M6.500 2.500H3v11h3.500M10 11l3-3-3-3M13 8H6",
  pause: "M5 3v10M11 3v10",
  play: "M4.500 3l8 5-8 5z",
  stop: "M3.500 3.500h9v9h-9z",
  archive: "M2 3h12v3H2zM3 6v7h10V6M6.500 8.500h3",
  fork: "M4.500 5.500v5M4.500 5.500a1.750 1.750 0 100-3.500 1.750 1.750 0 000 3.500zM4.500 14a1.750 1.750 0 100-3.500 1.750 1.750 0 000 3.500zM11.500 5.500a1.750 1.750 0 100-3.500 1.750 1.750 0 000 3.500zM11.500 5.500c0 3-2.500 3.500-5 4",
  columns: "M2 3h12v10H2zM6 3v10M10 3v10",
  groups: "M2 3h7M5 7h9M5 10h9M5 13h9M2.500 3v10",
  filter: "M2 3.500h12L9.500 8.500V13l-3-1.500v-3z",
  copy: "M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3",
  more: "M3.500 8h.01M8 8h.01M12.500 8h.01",
  menu: "M2 4h12M2 8h12M2 12h12",
  warning: "M8 2l6.500 11.500h-13zM8 6.500v3M8 11.500v.01",
  clock: "M8 14A6 6 0 108 2a6 6 0 000 12zM8 5v3.200l2 1.300",
  external: "M6 3H3v10h10v-3M9 3h4v4M13 3L7.500 8.500",
  refresh: "M13 8a5 5 0 11-1.500-3.500L13 6M13 2.500V6H9.500",
  upload: "M8 10.500V2.500M5 5.500l3-3 3 3M2.500 10.500v3h11v-3",
  trash: "M3 4h10M6.500 4V2.500h3V4M4 4l.7 9.500h6.600L12 4M6.700 7v4M9.300 7v4",
  tag: "M2.500 2.500h5l6 6-5 5-6-6zM5.200 5.200h.01",
  bookmark: "M4 2.500h8v11L8 10.500l-4 3z",
  file: "M4 1.800h5l3 3v9.400H4zM9 1.800v3h3",
  link: "M6.500 9.500l3-3M7 4.500L8.500 3a3 3 0 014.500 4.500L11.500 9M9 11.500L7.500 13A3 3 0 013 8.500L4.500 7",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === "more" ? 2.4 : 1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

import type { ReactNode } from "react";

const shapes = {
  panel: (
    <>
      <rect x="3" y="4" width="18" height="16" rx="2.5" />
      <path d="M9 4v16" />
    </>
  ),
  plus: <path d="M12 5v14M5 12h14" />,
  search: (
    <>
      <circle cx="11" cy="11" r="6.5" />
      <path d="m20 20-4.2-4.2" />
    </>
  ),
  close: <path d="m6 6 12 12M18 6 6 18" />,
  more: (
    <>
      <circle cx="5.5" cy="12" r="1" />
      <circle cx="12" cy="12" r="1" />
      <circle cx="18.5" cy="12" r="1" />
    </>
  ),
  attach: (
    <path d="m19.5 11-7.6 7.6a4.6 4.6 0 0 1-6.5-6.5l7.9-7.9a3.1 3.1 0 0 1 4.4 4.4l-7.9 7.9a1.55 1.55 0 0 1-2.2-2.2l7.2-7.2" />
  ),
  file: <path d="M6.5 3.5h7l4 4v13h-11zM13.5 3.5v4h4" />,
  send: <path d="M12 19V5M6 11l6-6 6 6" />,
  stop: <rect x="7" y="7" width="10" height="10" rx="1.5" className="page-icon-solid" />,
  copy: (
    <>
      <rect x="9" y="9" width="11" height="11" rx="2" />
      <path d="M15 5.5A1.5 1.5 0 0 0 13.5 4h-8A1.5 1.5 0 0 0 4 5.5v8A1.5 1.5 0 0 0 5.5 15" />
    </>
  ),
  check: <path d="m5 12.5 4.5 4.5L19 7.5" />,
  again: (
    <>
      <path d="M19.5 12a7.5 7.5 0 1 1-2.3-5.4" />
      <path d="M19.5 3.5v4h-4" />
    </>
  ),
  edit: <path d="M4 20h4L19 9a2.1 2.1 0 0 0-3-3L5 17zM14 8l3 3" />,
  left: <path d="m14.5 6-6 6 6 6" />,
  right: <path d="m9.5 6 6 6-6 6" />,
  down: <path d="M12 5v14M6 13l6 6 6-6" />,
  export: <path d="M12 4v11M7.5 10.5 12 15l4.5-4.5M5 19.5h14" />,
  settings: (
    <>
      <path d="M4 8h9M19 8h1M4 16h1M11 16h9" />
      <circle cx="16" cy="8" r="2.5" />
      <circle cx="8" cy="16" r="2.5" />
    </>
  ),
  thumbUp: (
    <path d="M7.5 11v9H5a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1zm0 0 4-7.5a2.2 2.2 0 0 1 2.2 2.6L13.2 9.5h5a1.8 1.8 0 0 1 1.8 2.2l-1.4 6.7A2 2 0 0 1 16.6 20H7.5" />
  ),
  thumbDown: (
    <path d="M16.5 13V4H19a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1zm0 0-4 7.5a2.2 2.2 0 0 1-2.2-2.6l.5-3.4h-5A1.8 1.8 0 0 1 4 12.300l1.4-6.7A2 2 0 0 1 7.4 4h9.1" />
  ),
  trash: <path d="M4.5 7h15M9.5 7V4.5h5V7M6.5 7l1 12.5h9l1-12.5" />,
  warning: <path d="M12 4 3 19.5h18zM12 10v4.5M12 17v.01" />,
} satisfies Record<string, ReactNode>;

/** The name of an icon. */
export type IconName = keyof typeof shapes;

/** A line icon that takes the colour of the text around it. It is never the only name of a control. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="page-icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      {shapes[name]}
    </svg>
  );
}

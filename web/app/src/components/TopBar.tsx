import type { ExportFormat } from "@inlay-ui/client";
import { memo, type RefObject } from "react";
import { languageNames, languages, useText } from "../i18n/index.ts";
import type { Settings } from "../settings.ts";
import { Icon } from "./Icon.tsx";
import { Menu, type MenuItem } from "./Menu.tsx";

const formats = ["md", "txt", "json", "html"] as const;
const themes = ["light", "dark", "system"] as const;

/** The bar above the messages: title, export and settings. */
export const TopBar = memo(function TopBar({
  title,
  sidebarOpen,
  toggle,
  settings,
  exportUrl,
  canSignOut,
  onShowSidebar,
  onNew,
  onExport,
  onSettings,
  onHelp,
  onSignOut,
}: {
  title: string;
  sidebarOpen: boolean;
  toggle: RefObject<HTMLButtonElement | null>;
  settings: Settings;
  /** Where an export is; null while there is nothing to export. */
  exportUrl: ((format: ExportFormat) => string) | null;
  canSignOut: boolean;
  onShowSidebar: () => void;
  onNew: () => void;
  /** Downloads an export where a link alone would not do. */
  onExport: ((format: ExportFormat) => void) | null;
  onSettings: (change: Partial<Settings>) => void;
  onHelp: () => void;
  onSignOut: () => void;
}) {
  const t = useText();
  const settingItems: MenuItem[] = [
    { kind: "heading", id: "theme", label: t("settings.theme") },
    ...themes.map(
      (theme): MenuItem => ({
        kind: "choice",
        id: theme,
        label: t(`settings.${theme}`),
        checked: settings.theme === theme,
        run: () => onSettings({ theme }),
      }),
    ),
    { kind: "heading", id: "language", label: t("settings.language") },
    ...languages.map(
      (lang): MenuItem => ({
        kind: "choice",
        id: lang,
        label: languageNames[lang],
        checked: settings.lang === lang,
        run: () => onSettings({ lang }),
      }),
    ),
    { kind: "separator", id: "end" },
    { kind: "action", id: "help", label: t("settings.help"), run: onHelp },
  ];
  if (canSignOut) {
    settingItems.push({
      kind: "action",
      id: "signOut",
      label: t("settings.signOut"),
      run: onSignOut,
    });
  }
  return (
    <header className="page-top">
      {!sidebarOpen && (
        <>
          <button
            ref={toggle}
            type="button"
            className="page-icon-button"
            aria-label={t("nav.open")}
            title={t("nav.open")}
            aria-expanded={false}
            onClick={onShowSidebar}
          >
            <Icon name="panel" />
          </button>
          <button
            type="button"
            className="page-icon-button"
            aria-label={t("nav.new")}
            title={t("nav.new")}
            onClick={onNew}
          >
            <Icon name="plus" />
          </button>
        </>
      )}
      <h1>{title}</h1>
      {exportUrl && (
        <Menu
          label={t("export.menu")}
          icon="export"
          items={formats.map((format) => ({
            kind: "link",
            id: format,
            label: t(`export.${format}`),
            href: exportUrl(format),
            ...(onExport ? { run: () => onExport(format) } : {}),
          }))}
        />
      )}
      <Menu label={t("settings.menu")} icon="settings" items={settingItems} />
    </header>
  );
});

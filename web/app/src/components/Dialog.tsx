import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { useText } from "../i18n/index.ts";
import { Icon } from "./Icon.tsx";

/**
 * A modal dialog. The browser keeps the focus inside while it is open, closes
 * it on Escape and gives the focus back to where it was. The focus starts at
 * the child marked `data-initial-focus`, else at the first control.
 */
export function Dialog({
  title,
  onClose,
  children,
  role = "dialog",
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
  role?: "dialog" | "alertdialog";
}) {
  const t = useText();
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Before the element leaves the page, so that the browser can give the focus back.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (!element || element.open) return;
    element.showModal();
    element.querySelector<HTMLElement>("[data-initial-focus]")?.focus();
    return () => element.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a modal dialog by itself
    <dialog
      ref={dialog}
      role={role}
      className="page-dialog"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div className="page-dialog-body">
        <header className="page-dialog-head">
          <h2 id={titleId}>{title}</h2>
          <button
            type="button"
            className="page-icon-button"
            aria-label={t("dialog.close")}
            onClick={onClose}
          >
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { useT } from "./context.ts";

/**
 * A modal dialog. The browser keeps the focus inside, closes it on Escape and
 * gives the focus back to where it was. The focus begins at the child marked
 * `data-initial-focus`.
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
  const t = useT();
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
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
      className="inlay-dialog"
      aria-labelledby={`${id}-title`}
      aria-describedby={role === "alertdialog" ? `${id}-body` : undefined}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div className="inlay-dialog-frame">
        <header className="inlay-dialog-head">
          <h2 className="inlay-dialog-title" id={`${id}-title`}>
            {title}
          </h2>
          <button
            type="button"
            className="inlay-quiet"
            aria-label={t("chat.dialog.close")}
            onClick={onClose}
          >
            <span aria-hidden="true">✕</span>
          </button>
        </header>
        <div id={`${id}-body`}>{children}</div>
      </div>
    </dialog>
  );
}

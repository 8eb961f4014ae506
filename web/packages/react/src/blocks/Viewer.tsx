import { type KeyboardEvent, type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { useT } from "../context.ts";

/**
 * A window over the whole page for one thing to look at closely. The browser
 * keeps the focus in it, closes it on Escape and gives the focus back.
 */
export function Viewer({
  title,
  onClose,
  tools,
  onKey,
  children,
}: {
  title: string;
  onClose: () => void;
  /** Buttons beside the title. */
  tools?: ReactNode;
  onKey?: (event: KeyboardEvent) => void;
  children: ReactNode;
}) {
  const t = useT();
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before the element leaves the page, so that the browser can give the focus back.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (!element || element.open) return;
    element.showModal();
    return () => element.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className="inlay-viewer"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event) => {
        onKey?.(event);
        // What is typed here is not for the page behind.
        event.stopPropagation();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div className="inlay-viewer-inside">
        <header className="inlay-viewer-head">
          <h2 className="inlay-viewer-title" id={id}>
            {title}
          </h2>
          {tools}
          <button type="button" className="inlay-button" onClick={onClose}>
            {t("chat.block.view.close")}
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

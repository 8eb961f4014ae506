import {
  type KeyboardEvent,
  type ReactNode,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { Icon, type IconName } from "./Icon.tsx";

/** An entry of a {@link Menu}. */
export type MenuItem =
  | { kind: "action"; id: string; label: string; danger?: boolean; run: () => void }
  | { kind: "choice"; id: string; label: string; checked: boolean; run: () => void }
  | { kind: "link"; id: string; label: string; href: string; run?: () => void }
  | { kind: "heading"; id: string; label: string }
  | { kind: "separator"; id: string };

/** Places a popover under its button, or above it where there is more room, inside the window. */
function place(popover: HTMLElement, button: HTMLElement): void {
  const gap = 6;
  const edge = 8;
  const from = button.getBoundingClientRect();
  const size = popover.getBoundingClientRect();
  const below = window.innerHeight - from.bottom - gap - edge;
  const top =
    size.height <= below || below > from.top ? from.bottom + gap : from.top - gap - size.height;
  const left = Math.min(
    Math.max(
      edge,
      from.left + from.width / 2 > window.innerWidth / 2 ? from.right - size.width : from.left,
    ),
    window.innerWidth - size.width - edge,
  );
  popover.style.top = `${Math.max(edge, top)}px`;
  popover.style.left = `${Math.max(edge, left)}px`;
}

/**
 * Opens and places a popover in the browser's top layer; the browser closes it
 * on Escape and on a click elsewhere.
 */
export function usePopover() {
  const button = useRef<HTMLButtonElement>(null);
  const popover = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  useLayoutEffect(() => {
    const element = popover.current;
    if (!element) return;
    const toggled = (event: Event) => setOpen((event as ToggleEvent).newState === "open");
    element.addEventListener("toggle", toggled);
    return () => element.removeEventListener("toggle", toggled);
  }, []);
  const show = () => {
    const element = popover.current;
    if (!element || !button.current) return;
    element.showPopover();
    place(element, button.current);
    setOpen(true);
  };
  const hide = () => {
    popover.current?.hidePopover();
    setOpen(false);
  };
  // A press on the button dismisses an open popover before the click arrives;
  // the click must not open it again.
  const openAtPress = useRef(false);
  const pressed = () => {
    openAtPress.current = open;
  };
  const wasOpen = () => {
    const was = open || openAtPress.current;
    openAtPress.current = false;
    return was;
  };
  return { button, popover, open, show, hide, pressed, wasOpen };
}

/** A button with a menu. */
export function Menu({
  label,
  icon,
  items,
  className = "page-icon-button",
  children,
}: {
  label: string;
  icon: IconName;
  items: MenuItem[];
  className?: string;
  children?: ReactNode;
}) {
  const { button, popover, open, show, hide, pressed, wasOpen } = usePopover();
  const menuId = useId();
  const entries = () =>
    Array.from(popover.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? []);

  const openAt = (end: "first" | "last") => {
    show();
    entries()
      .at(end === "first" ? 0 : -1)
      ?.focus();
  };

  const keyInMenu = (event: KeyboardEvent) => {
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLElement);
    let next: HTMLElement | undefined;
    if (event.key === "ArrowDown") next = all[(at + 1) % all.length];
    else if (event.key === "ArrowUp") next = all.at(at <= 0 ? -1 : at - 1);
    else if (event.key === "Home") next = all[0];
    else if (event.key === "End") next = all.at(-1);
    else if (event.key === "Tab") {
      hide();
      button.current?.focus();
      return;
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      hide();
      button.current?.focus();
      return;
    } else return;
    event.preventDefault();
    next?.focus();
  };

  return (
    <>
      <button
        ref={button}
        type="button"
        className={className}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? menuId : undefined}
        onPointerDown={pressed}
        onClick={() => (wasOpen() ? hide() : openAt("first"))}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
          event.preventDefault();
          openAt(event.key === "ArrowDown" ? "first" : "last");
        }}
      >
        {children ?? <Icon name={icon} />}
      </button>
      <div
        ref={popover}
        id={menuId}
        popover="auto"
        role="menu"
        aria-label={label}
        tabIndex={-1}
        className="page-menu"
        onKeyDown={keyInMenu}
      >
        {items.map((item) =>
          item.kind === "heading" ? (
            <div key={item.id} role="presentation" className="page-menu-heading">
              {item.label}
            </div>
          ) : item.kind === "separator" ? (
            <hr key={item.id} className="page-menu-separator" />
          ) : item.kind === "link" ? (
            <a
              key={item.id}
              role="menuitem"
              tabIndex={-1}
              className="page-menu-item"
              href={item.href}
              download
              onClick={(event) => {
                hide();
                button.current?.focus();
                if (!item.run) return;
                event.preventDefault();
                item.run();
              }}
            >
              {item.label}
            </a>
          ) : (
            <button
              key={item.id}
              type="button"
              tabIndex={-1}
              className="page-menu-item"
              {...(item.kind === "choice"
                ? { role: "menuitemradio", "aria-checked": item.checked }
                : { role: "menuitem", "data-danger": item.danger || undefined })}
              onClick={() => {
                hide();
                button.current?.focus();
                item.run();
              }}
            >
              <span className="page-menu-mark">
                {item.kind === "choice" && item.checked && <Icon name="check" />}
              </span>
              {item.label}
            </button>
          ),
        )}
      </div>
    </>
  );
}

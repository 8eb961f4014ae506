import {
  createContext,
  type KeyboardEvent,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { useT } from "./context.ts";
import type { MenuItem } from "./registry.ts";

/** Takes the entries that a renderer adds to its block's menu. */
export const MenuContext = createContext<(items: MenuItem[]) => void>(() => {});

const none: MenuItem[] = [];

/** Adds entries to the menu of the block that this component draws. Memoize the array. */
export function useBlockMenu(items: MenuItem[]): void {
  const set = useContext(MenuContext);
  useLayoutEffect(() => {
    set(items);
  }, [set, items]);
  useLayoutEffect(() => () => set(none), [set]);
}

/** A button that opens a list of entries, by pointer or by keyboard. */
export function Menu({ items, label }: { items: MenuItem[]; label: string }) {
  const t = useT();
  const [open, setOpen] = useState(false);
  const [failed, setFailed] = useState("");
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();

  const entries = () =>
    Array.from(root.current?.querySelectorAll<HTMLElement>('[role^="menuitem"]') ?? []);
  const close = (focus: boolean) => {
    setOpen(false);
    if (focus) button.current?.focus();
  };
  useEffect(() => {
    if (!open) return;
    root.current?.querySelector<HTMLElement>('[role^="menuitem"]')?.focus();
    const outside = (event: Event) => {
      if (event.target instanceof Node && !root.current?.contains(event.target)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [open]);

  const keyDown = (event: KeyboardEvent) => {
    if (!open) return;
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const step: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1 + all.length,
      Home: 0,
      End: all.length - 1,
    };
    const next = step[event.key];
    if (next !== undefined) all[next % all.length]?.focus();
    else if (event.key === "Escape") close(true);
    else if (event.key === "Tab") {
      setOpen(false);
      return;
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const run = async (item: MenuItem) => {
    close(true);
    setFailed("");
    try {
      await item.run();
    } catch {
      setFailed(t("chat.error.other", { code: item.id }));
    }
  };

  if (items.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only listens to the keys of the entries inside it
    <div className="inlay-menu" ref={root} onKeyDown={keyDown}>
      <button
        ref={button}
        type="button"
        className="inlay-menu-button"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        <span aria-hidden="true">⋯</span>
      </button>
      {open && (
        <div className="inlay-menu-list" role="menu" id={id} aria-label={label}>
          {items.map((item) => (
            <button
              key={item.id}
              type="button"
              tabIndex={-1}
              className="inlay-menu-item"
              data-menu-item={item.id}
              {...(item.pressed === undefined
                ? { role: "menuitem" }
                : { role: "menuitemcheckbox", "aria-checked": item.pressed })}
              disabled={item.disabled}
              onClick={() => void run(item)}
            >
              {item.label}
            </button>
          ))}
        </div>
      )}
      {failed && (
        <span className="inlay-menu-failed" role="status">
          {failed}
        </span>
      )}
    </div>
  );
}

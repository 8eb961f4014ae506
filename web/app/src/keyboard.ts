/** The part of a keyboard event that decides about shortcuts. */
export interface KeyPress {
  key: string;
  code?: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
  isComposing?: boolean;
  keyCode?: number;
  repeat?: boolean;
}

/** What a shortcut does anywhere on the page. */
export type PageCommand = "search" | "new" | "focus" | "help" | "stop" | "previous" | "next";

/** Whether the key belongs to an input method that is composing (229 is what some browsers send instead). */
export function isComposing(press: KeyPress): boolean {
  return press.isComposing === true || press.keyCode === 229;
}

/**
 * The command of a key pressed anywhere on the page. `typing` is true while
 * the focus is in something that takes text, where single characters are text.
 */
export function pageCommand(press: KeyPress, typing: boolean): PageCommand | null {
  if (isComposing(press)) return null;
  const mod = press.ctrlKey || press.metaKey;
  const key = press.key.length === 1 ? press.key.toLowerCase() : press.key;
  if (mod && !press.altKey) {
    if (key === "k" && !press.shiftKey) return "search";
    if (key === "o" && press.shiftKey) return "new";
    return null;
  }
  if (press.altKey) {
    if (mod || press.shiftKey || typing) return null;
    if (key === "ArrowUp") return "previous";
    if (key === "ArrowDown") return "next";
    return null;
  }
  if (key === "Escape") return "stop";
  if (typing) return null;
  if (key === "/") return "focus";
  if (key === "?") return "help";
  return null;
}

/** What a key does in the message field. */
export type ComposerCommand = "send" | "nothing" | "editLast" | null;

/**
 * The command of a key pressed in the message field. Enter sends, with Shift
 * it is a new line; while an input method composes, Enter is its own. A key
 * that is held down may have been pressed elsewhere, on a button that wrote
 * into the field: it sends nothing. Arrow-up edits the last message only where
 * it could not move the caret.
 */
export function composerCommand(press: KeyPress, text: string): ComposerCommand {
  if (isComposing(press)) return null;
  if (press.key === "Enter" && !press.shiftKey && !press.altKey) {
    return press.repeat ? "nothing" : "send";
  }
  const plain = !press.shiftKey && !press.altKey && !press.ctrlKey && !press.metaKey;
  if (press.key === "ArrowUp" && plain && text === "") return "editLast";
  return null;
}

/** Whether an element takes text, so that single characters are not shortcuts in it. */
export function takesText(element: Element | null): boolean {
  if (element === null) return false;
  if (element instanceof HTMLElement && element.isContentEditable) return true;
  if (element.tagName === "TEXTAREA" || element.tagName === "SELECT") return true;
  if (element.tagName !== "INPUT") return false;
  const type = (element.getAttribute("type") ?? "text").toLowerCase();
  return !["button", "checkbox", "radio", "submit", "reset", "range", "file", "color"].includes(
    type,
  );
}

/** Whether the page runs on an Apple system, where shortcuts are written with ⌘. */
export function isApple(platform: string): boolean {
  return /mac|iphone|ipad|ipod/i.test(platform);
}

import { describe, expect, it } from "vitest";
import {
  composerCommand,
  isApple,
  type KeyPress,
  pageCommand,
  takesText,
} from "../src/keyboard.ts";

function press(key: string, change: Partial<KeyPress> = {}): KeyPress {
  return { key, ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...change };
}

describe("pageCommand", () => {
  it.each([
    ["search", press("k", { ctrlKey: true }), true],
    ["search", press("k", { metaKey: true }), false],
    ["search", press("K", { ctrlKey: true }), false],
    ["new", press("O", { ctrlKey: true, shiftKey: true }), true],
    ["new", press("o", { metaKey: true, shiftKey: true }), false],
    ["focus", press("/"), false],
    ["help", press("?", { shiftKey: true }), false],
    ["stop", press("Escape"), true],
    ["stop", press("Escape"), false],
    ["previous", press("ArrowUp", { altKey: true }), false],
    ["next", press("ArrowDown", { altKey: true }), false],
  ] as const)("%s", (command, key, typing) => {
    expect(pageCommand(key, typing)).toBe(command);
  });

  it("leaves text, other shortcuts and input methods alone", () => {
    expect(pageCommand(press("/"), true)).toBeNull();
    expect(pageCommand(press("?", { shiftKey: true }), true)).toBeNull();
    expect(pageCommand(press("ArrowUp", { altKey: true }), true)).toBeNull();
    expect(pageCommand(press("o", { ctrlKey: true }), false)).toBeNull();
    expect(pageCommand(press("k", { ctrlKey: true, shiftKey: true }), false)).toBeNull();
    expect(pageCommand(press("Escape", { isComposing: true }), true)).toBeNull();
    expect(pageCommand(press("k"), false)).toBeNull();
  });
});

describe("composerCommand", () => {
  it("sends on Enter, not on Shift+Enter", () => {
    expect(composerCommand(press("Enter"), "hello")).toBe("send");
    expect(composerCommand(press("Enter", { ctrlKey: true }), "hello")).toBe("send");
    expect(composerCommand(press("Enter", { shiftKey: true }), "hello")).toBeNull();
  });

  it("sends nothing by a key that is held down: it may have been pressed elsewhere", () => {
    expect(composerCommand(press("Enter", { repeat: true }), "/buy")).toBe("nothing");
    expect(composerCommand(press("Enter", { repeat: true, shiftKey: true }), "x")).toBeNull();
  });

  it("never sends while an input method composes", () => {
    expect(composerCommand(press("Enter", { isComposing: true }), "ni hao")).toBeNull();
    expect(composerCommand(press("Enter", { keyCode: 229 }), "ni hao")).toBeNull();
  });

  it("edits the last message by arrow-up only in an empty field", () => {
    expect(composerCommand(press("ArrowUp"), "")).toBe("editLast");
    expect(composerCommand(press("ArrowUp"), "a")).toBeNull();
    expect(composerCommand(press("ArrowUp", { shiftKey: true }), "")).toBeNull();
  });
});

describe("takesText", () => {
  it("knows what takes text", () => {
    const input = document.createElement("input");
    expect(takesText(input)).toBe(true);
    input.type = "checkbox";
    expect(takesText(input)).toBe(false);
    expect(takesText(document.createElement("textarea"))).toBe(true);
    expect(takesText(document.createElement("button"))).toBe(false);
    expect(takesText(null)).toBe(false);
  });
});

describe("isApple", () => {
  it("tells the systems apart", () => {
    expect(isApple("MacIntel")).toBe(true);
    expect(isApple("iPhone")).toBe(true);
    expect(isApple("Linux x86_64")).toBe(false);
    expect(isApple("Win32")).toBe(false);
  });
});

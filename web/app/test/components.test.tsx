import { InlayClient, type Message, type ToolActivity } from "@inlay-ui/client";
import { InlayProvider } from "@inlay-ui/react";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type ReactNode, useRef, useState } from "react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Composer } from "../src/components/Composer.tsx";
import { ConversationRow } from "../src/components/ConversationRow.tsx";
import { EmptyState } from "../src/components/EmptyState.tsx";
import { ErrorNote } from "../src/components/ErrorNote.tsx";
import { SignIn } from "../src/components/SignIn.tsx";
import { ToolLines, toolLine } from "../src/components/ToolLines.tsx";
import { Turn } from "../src/components/Turn.tsx";
import { type Lang, TextContext, translator } from "../src/i18n/index.ts";
import { conversation, message } from "./samples.ts";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function show(children: ReactNode, lang: Lang = "en") {
  return render(<TextContext value={{ lang, t: translator(lang) }}>{children}</TextContext>);
}

function Field(props: {
  running?: boolean;
  limit?: number;
  onSend?: (text: string) => void;
  onStop?: () => void;
  onEditLast?: () => void;
}) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState("");
  return (
    <Composer
      field={field}
      text={text}
      onText={setText}
      running={props.running ?? false}
      limit={props.limit}
      onSend={() => props.onSend?.(text)}
      onStop={() => props.onStop?.()}
      onEditLast={() => props.onEditLast?.()}
    />
  );
}

describe("Composer", () => {
  it.each([
    ["en", "Message"],
    ["zh", "消息"],
  ] as const)("has its exact name in %s", (lang, name) => {
    show(<Field />, lang);
    expect(screen.getByRole("textbox", { name }).tagName).toBe("TEXTAREA");
  });

  it("sends on Enter and keeps Shift+Enter as a new line", async () => {
    const sent = vi.fn();
    show(<Field onSend={sent} />);
    const user = userEvent.setup();
    await user.type(screen.getByRole("textbox"), "one{Shift>}{Enter}{/Shift}two{Enter}");
    expect(sent.mock.calls).toEqual([["one\ntwo"]]);
  });

  it("does not send while an input method composes", async () => {
    const sent = vi.fn();
    show(<Field onSend={sent} />);
    const field = screen.getByRole("textbox");
    fireEvent.change(field, { target: { value: "你好" } });
    fireEvent.keyDown(field, { key: "Enter", isComposing: true });
    fireEvent.keyDown(field, { key: "Enter", keyCode: 229 });
    expect(sent).not.toHaveBeenCalled();
    fireEvent.keyDown(field, { key: "Enter" });
    expect(sent).toHaveBeenCalledTimes(1);
  });

  it("does not send what is empty or too long, and says so", async () => {
    const sent = vi.fn();
    show(<Field onSend={sent} limit={5} />);
    const field = screen.getByRole("textbox");
    await userEvent.type(field, "  {Enter}");
    fireEvent.change(field, { target: { value: "长消息" } });
    expect(screen.getByRole("alert").textContent).toContain("too long");
    fireEvent.keyDown(field, { key: "Enter" });
    fireEvent.click(screen.getByRole("button", { name: "Send message" }));
    expect(sent).not.toHaveBeenCalled();
  });

  it("stops while an answer runs, and edits the last message by arrow-up", async () => {
    const stopped = vi.fn();
    const edited = vi.fn();
    show(<Field running onStop={stopped} onEditLast={edited} />);
    await userEvent.click(screen.getByRole("button", { name: "Stop answering" }));
    await userEvent.type(screen.getByRole("textbox"), "{ArrowUp}");
    expect(stopped).toHaveBeenCalledTimes(1);
    expect(edited).toHaveBeenCalledTimes(1);
  });
});

describe("ConversationRow", () => {
  const nothing = () => undefined;
  const row = (running: string | undefined, waiting: boolean, answered = false) => {
    const { container } = show(
      <ConversationRow
        conversation={{ ...conversation("c1", "2026-03-01T10:00:00Z", "Exports"), running }}
        href="#/c/c1"
        current={false}
        waiting={waiting}
        answered={answered}
        renaming={false}
        onPicked={nothing}
        onRename={nothing}
        onRenamed={nothing}
        onDelete={nothing}
      />,
    );
    return [...container.querySelectorAll("[role=img]")].map((e) => e.getAttribute("aria-label"));
  };

  it.each([
    [undefined, false, []],
    ["m1", false, ["Answering"]],
    [undefined, true, ["Waiting for your reply"]],
    ["m1", true, ["Answering"]],
  ] as const)("marks what runs (%s) or waits (%s)", (running, waiting, marks) => {
    expect(row(running, waiting)).toEqual(marks);
  });

  it("does not mark an answer that is complete, whatever the server still does", () => {
    expect(row("m1", false, true)).toEqual([]);
  });
});

describe("Turn", () => {
  const nothing = () => undefined;
  const turn = (change: Partial<Message>) => {
    vi.stubGlobal("matchMedia", undefined);
    show(
      <InlayProvider client={new InlayClient()}>
        <Turn
          message={message(change)}
          position={2}
          count={2}
          busy={false}
          editing={false}
          toolDetails={false}
          actions={{
            regenerate: nothing,
            edit: nothing,
            selectBranch: nothing,
            startEdit: nothing,
            feedback: async () => undefined,
            loadTrajectory: async () => undefined,
            announce: nothing,
          }}
        />
      </InlayProvider>,
    );
    const tools = screen.queryAllByRole("button", { name: "Answer again" }).length > 0;
    return { busy: screen.getByRole("article").getAttribute("aria-busy"), tools };
  };

  it("is busy and has no tools while it is answered", () => {
    expect(turn({ status: "running" })).toEqual({ busy: "true", tools: false });
  });

  it("is as if it were over when the answer is complete", () => {
    expect(turn({ status: "running", answered: true })).toEqual({ busy: "false", tools: true });
  });
});

describe("EmptyState", () => {
  it("asks a suggestion with one click", async () => {
    const asked = vi.fn();
    show(<EmptyState suggestions={[{ text: "Show Q3 sales" }]} onAsk={asked} />);
    await userEvent.click(screen.getByRole("button", { name: "Show Q3 sales" }));
    expect(asked).toHaveBeenCalledWith("Show Q3 sales");
  });

  it("shows six at first and the others when asked, where the focus goes on", async () => {
    const suggestions = Array.from({ length: 13 }, (_, i) => ({ text: `Question ${i + 1}` }));
    const asked = vi.fn();
    show(<EmptyState suggestions={suggestions} onAsk={asked} />);
    expect(screen.getAllByRole("listitem")).toHaveLength(6);
    screen.getByRole("button", { name: "Show 7 more" }).focus();
    await userEvent.keyboard("{Enter}");
    expect(screen.getAllByRole("listitem")).toHaveLength(13);
    expect(screen.queryByRole("button", { name: /more/ })).toBeNull();
    expect(document.activeElement?.textContent).toBe("Question 7");
    expect(asked).not.toHaveBeenCalled();
    await userEvent.keyboard("{Enter}");
    expect(asked).toHaveBeenCalledWith("Question 7");
  });

  it("offers no more where six are all, in Chinese too", () => {
    const six = Array.from({ length: 6 }, (_, i) => ({ text: `问题 ${i + 1}` }));
    const view = show(<EmptyState suggestions={six} onAsk={() => {}} />, "zh");
    expect(screen.getAllByRole("button")).toHaveLength(6);
    view.unmount();
    show(<EmptyState suggestions={[...six, { text: "问题 7" }]} onAsk={() => {}} />, "zh");
    expect(screen.getByRole("button", { name: "再看 1 个" })).toBeDefined();
  });
});

describe("ErrorNote", () => {
  it("says what happened and what helps, with the reference", () => {
    show(<ErrorNote failure={{ code: "turn_running", status: 409, traceId: "t-1" }} />);
    const text = screen.getByRole("alert").textContent;
    expect(text).toContain("still being written");
    expect(text).toContain("Wait until it is complete");
    expect(text).toContain("t-1");
  });
});

describe("SignIn", () => {
  it("takes a token, with or without its scheme", async () => {
    const token = vi.fn();
    show(<SignIn rejected onToken={token} />);
    expect(screen.getByRole("alert").textContent).toContain("did not accept");
    const field = screen.getByLabelText("Access token");
    expect(document.activeElement).toBe(field);
    await userEvent.type(field, "Bearer abc{Enter}");
    expect(token).toHaveBeenCalledWith("abc");
  });
});

describe("ToolLines", () => {
  const tool: ToolActivity = { id: "t1", name: "q3_sales", status: "ok", durationMs: 412 };

  it("is one quiet line in the reader's language", () => {
    const { container } = show(<ToolLines tools={[tool]} loadTrajectory={null} />);
    expect(container.textContent).toBe("Looked up q3 sales · 0.4 s");
    cleanup();
    const zh = show(<ToolLines tools={[tool]} loadTrajectory={null} />, "zh");
    expect(zh.container.textContent).toBe("已查询 q3 sales · 0.4 秒");
    cleanup();
    const running = show(
      <ToolLines
        tools={[{ id: "t1", name: "q3_sales", status: "running" }]}
        loadTrajectory={null}
      />,
    );
    expect(running.container.textContent).toBe("Looking up q3 sales…");
  });

  it.each([
    ["running", "Look up sales…"],
    ["ok", "Look up sales · 0.4 s"],
    ["error", "Look up sales: failed · 0.4 s"],
    ["cancelled", "Look up sales: stopped"],
  ] as const)("lets a title speak for itself: %s", (status, line) => {
    const titled: ToolActivity = { ...tool, title: "Look up sales", status };
    expect(toolLine(titled, translator("en"), "en")).toBe(line);
  });

  it("does not count what took no time", () => {
    expect(toolLine({ ...tool, durationMs: 12 }, translator("en"), "en")).toBe(
      "Looked up q3 sales · < 0.1 s",
    );
  });

  it("opens to details only for readers who may see them", async () => {
    show(
      <ToolLines
        tools={[tool]}
        loadTrajectory={async () => ({
          steps: [
            {
              tool_calls: [{ tool_call_id: "t1", arguments: { quarter: "2026Q3" } }],
              observation: { results: [{ source_call_id: "t1", content: "3 rows" }] },
            },
          ],
        })}
      />,
    );
    const details = screen.getByRole("group") as HTMLDetailsElement;
    details.open = true;
    fireEvent(details, new Event("toggle"));
    expect(await screen.findByText("3 rows")).toBeTruthy();
    expect(screen.getByText(/2026Q3/)).toBeTruthy();
  });
});

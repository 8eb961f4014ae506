import type { Message, Rating } from "@inlay-ui/client";
import { isAnswering, MessageView } from "@inlay-ui/react";
import { type KeyboardEvent, memo, useEffect, useId, useRef, useState } from "react";
import { type TextKey, useText } from "../i18n/index.ts";
import { isComposing } from "../keyboard.ts";
import { branchOf, messageMarkdown, userText } from "../transcript.ts";
import { useAutoGrow } from "./Composer.tsx";
import { ErrorNote } from "./ErrorNote.tsx";
import { Icon, type IconName } from "./Icon.tsx";
import { RatingComment, Thumbs, useRating } from "./Rating.tsx";
import { ToolLines } from "./ToolLines.tsx";

/** What a reader can do with a message. Stable, so that unchanged messages are not drawn again. */
export interface TurnActions {
  regenerate(messageId: string): void;
  edit(messageId: string, text: string): void;
  selectBranch(messageId: string): void;
  startEdit(messageId: string | null): void;
  /** Says what the reader thinks of an answer; null takes it back. */
  feedback(messageId: string, rating: Rating | null, comment?: string): Promise<void>;
  loadTrajectory(messageId: string): Promise<unknown>;
  /** Tells a screen reader something. */
  announce(text: string): void;
}

const endings: Record<string, TextKey> = {
  length: "message.lengthCut",
  max_steps: "message.maxSteps",
  content_filter: "message.filtered",
};

/** One message with its heading, its blocks and what can be done with it. */
export const Turn = memo(function Turn({
  message,
  position,
  count,
  busy,
  editing,
  toolDetails,
  actions,
}: {
  message: Message;
  position: number;
  count: number;
  busy: boolean;
  editing: boolean;
  toolDetails: boolean;
  actions: TurnActions;
}) {
  const t = useText();
  const id = useId();
  const article = useRef<HTMLElement>(null);
  const user = message.role === "user";
  const answering = isAnswering(message);
  // A pressed button goes away with what it acted on; the focus stays near.
  const focusMessage = () => article.current?.focus({ preventScroll: true });
  const regenerate = () => {
    article.current?.closest("section")?.focus({ preventScroll: true });
    actions.regenerate(message.id);
  };

  return (
    <article
      ref={article}
      className="page-turn"
      data-role={message.role}
      data-message-id={message.id}
      data-status={message.status}
      tabIndex={-1}
      aria-labelledby={id}
      aria-posinset={position}
      aria-setsize={count}
      aria-busy={answering}
    >
      <h2 id={id} className="page-hidden">
        {t(user ? "feed.you" : "feed.assistant")}
      </h2>
      {user && editing ? (
        <EditField
          text={userText(message)}
          busy={busy}
          onSend={(text) => {
            focusMessage();
            actions.startEdit(null);
            actions.edit(message.id, text);
          }}
          onCancel={() => {
            focusMessage();
            actions.startEdit(null);
          }}
        />
      ) : (
        <div className="page-turn-body">
          {!user && <AnswerHead message={message} toolDetails={toolDetails} actions={actions} />}
          <MessageView message={message} />
          {!user && <AnswerEnd message={message} busy={busy} onRegenerate={regenerate} />}
        </div>
      )}
      {!answering && !editing && user && (
        <div className="page-turn-tools">
          <BranchPicker message={message} onSelect={actions.selectBranch} />
          <CopyButton text={() => userText(message)} announce={actions.announce} />
          <ToolButton
            icon="edit"
            label={t("message.edit")}
            disabled={busy}
            onClick={() => actions.startEdit(message.id)}
          />
        </div>
      )}
      {!answering && !user && (
        <AnswerTools
          key={message.id}
          message={message}
          busy={busy}
          actions={actions}
          onRegenerate={regenerate}
        />
      )}
    </article>
  );
});

function AnswerHead({
  message,
  toolDetails,
  actions,
}: {
  message: Message;
  toolDetails: boolean;
  actions: TurnActions;
}) {
  const t = useText();
  const tools = message.tools ?? [];
  const running = message.status === "running";
  const toolRuns = tools.some((tool) => tool.status === "running");
  const waits = running && message.blocks.length === 0 && !toolRuns && !message.reasoning;
  return (
    <>
      {message.reasoning && (
        <details className="page-reasoning">
          <summary data-running={(running && message.blocks.length === 0) || undefined}>
            {t(
              running && message.blocks.length === 0 ? "message.reasoningNow" : "message.reasoning",
            )}
          </summary>
          <div className="page-reasoning-text">{message.reasoning}</div>
        </details>
      )}
      {tools.length > 0 && (
        <ToolLines
          tools={tools}
          loadTrajectory={toolDetails ? () => actions.loadTrajectory(message.id) : null}
        />
      )}
      {waits && <p className="page-waiting">{t("message.waiting")}</p>}
    </>
  );
}

function AnswerEnd({
  message,
  busy,
  onRegenerate,
}: {
  message: Message;
  busy: boolean;
  onRegenerate: () => void;
}) {
  const t = useText();
  if (message.status === "running") return null;
  if (message.status === "error") {
    return (
      <ErrorNote failure={message.error ?? { code: "unknown" }}>
        <button
          type="button"
          className="page-button"
          aria-disabled={busy}
          onClick={() => {
            if (!busy) onRegenerate();
          }}
        >
          {t("message.regenerate")}
        </button>
      </ErrorNote>
    );
  }
  const key: TextKey | undefined =
    message.status === "cancelled"
      ? "message.stopped"
      : message.status === "paused"
        ? "message.paused"
        : message.blocks.length === 0
          ? "message.empty"
          : endings[message.finishReason ?? ""];
  return key ? <p className="page-ending">{t(key)}</p> : null;
}

/** What can be done with an answer that is complete, or waits. */
function AnswerTools({
  message,
  busy,
  actions,
  onRegenerate,
}: {
  message: Message;
  busy: boolean;
  actions: TurnActions;
  onRegenerate: () => void;
}) {
  const t = useText();
  const tools = useRef<HTMLDivElement>(null);
  const rating = useRating(
    message.feedback,
    (thumb, comment) => actions.feedback(message.id, thumb, comment),
    actions.announce,
  );
  return (
    <>
      <div className="page-turn-tools" ref={tools}>
        <BranchPicker message={message} onSelect={actions.selectBranch} />
        <CopyButton text={() => messageMarkdown(message)} announce={actions.announce} />
        <ToolButton
          icon="again"
          label={t("message.regenerate")}
          disabled={busy}
          onClick={onRegenerate}
        />
        {message.status !== "paused" && <Thumbs state={rating} />}
      </div>
      <RatingComment
        state={rating}
        onDone={() =>
          tools.current?.querySelector<HTMLElement>('[data-thumb][aria-pressed="true"]')?.focus()
        }
      />
    </>
  );
}

function BranchPicker({
  message,
  onSelect,
}: {
  message: Message;
  onSelect: (messageId: string) => void;
}) {
  const t = useText();
  const branch = branchOf(message);
  if (!branch) return null;
  const { previous, next } = branch;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div className="page-branch" role="group" aria-label={t("message.branch")}>
      <ToolButton
        icon="left"
        label={t("message.previous")}
        disabled={previous === null}
        onClick={() => previous && onSelect(previous)}
      />
      <span className="page-branch-count">
        <span aria-hidden="true">
          {branch.index + 1}/{branch.total}
        </span>
        <span className="page-hidden">
          {t("message.branchOf", { n: branch.index + 1, total: branch.total })}
        </span>
      </span>
      <ToolButton
        icon="right"
        label={t("message.next")}
        disabled={next === null}
        onClick={() => next && onSelect(next)}
      />
    </div>
  );
}

function CopyButton({ text, announce }: { text: () => string; announce: (text: string) => void }) {
  const t = useText();
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  useEffect(() => {
    if (state === "idle") return;
    const timer = setTimeout(() => setState("idle"), 2000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setState("copied");
      announce(t("message.copied"));
    } catch {
      setState("failed");
      announce(t("message.copyFailed"));
    }
  };
  const label: TextKey =
    state === "copied"
      ? "message.copied"
      : state === "failed"
        ? "message.copyFailed"
        : "message.copy";
  return (
    <ToolButton
      icon={state === "copied" ? "check" : "copy"}
      label={t("message.copy")}
      title={t(label)}
      onClick={() => void copy()}
    />
  );
}

/** A small button under a message. It stays focusable while disabled, so the focus is never lost. */
function ToolButton({
  icon,
  label,
  title = label,
  disabled = false,
  onClick,
}: {
  icon: IconName;
  label: string;
  title?: string;
  disabled?: boolean;
  onClick: () => void;
}) {
  return (
    <button
      type="button"
      className="page-icon-button"
      data-size="small"
      aria-label={label}
      title={title}
      aria-disabled={disabled}
      onClick={() => {
        if (!disabled) onClick();
      }}
    >
      <Icon name={icon} />
    </button>
  );
}

function EditField({
  text: original,
  busy,
  onSend,
  onCancel,
}: {
  text: string;
  busy: boolean;
  onSend: (text: string) => void;
  onCancel: () => void;
}) {
  const t = useText();
  const [text, setText] = useState(original);
  const field = useRef<HTMLTextAreaElement>(null);
  useAutoGrow(field, text);
  useEffect(() => {
    const element = field.current;
    if (!element) return;
    element.focus();
    element.setSelectionRange(element.value.length, element.value.length);
  }, []);
  const ready = text.trim() !== "" && !busy;
  const keyDown = (event: KeyboardEvent) => {
    if (isComposing(event.nativeEvent)) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (ready) onSend(text.trim());
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      onCancel();
    }
  };
  return (
    <form
      className="page-edit"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) onSend(text.trim());
      }}
    >
      <textarea
        ref={field}
        rows={1}
        value={text}
        aria-label={t("message.editLabel")}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={keyDown}
      />
      <div className="page-edit-actions">
        <button type="button" className="page-button" onClick={onCancel}>
          {t("message.editCancel")}
        </button>
        <button type="submit" className="page-button" data-primary="true" aria-disabled={!ready}>
          {t("message.editSend")}
        </button>
      </div>
    </form>
  );
}

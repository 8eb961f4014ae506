import {
  type FormEvent,
  type KeyboardEvent,
  memo,
  type ReactNode,
  type RefObject,
  useId,
  useLayoutEffect,
} from "react";
import { languageTag, useLang, useText } from "../i18n/index.ts";
import { composerCommand } from "../keyboard.ts";
import { Icon } from "./Icon.tsx";

const encoder = new TextEncoder();

/** A size in words. */
export function bytesText(bytes: number, tag: string): string {
  const at = bytes >= 1 << 20 ? 2 : bytes >= 1024 ? 1 : 0;
  return new Intl.NumberFormat(tag, {
    style: "unit",
    unit: ["byte", "kilobyte", "megabyte"][at],
    unitDisplay: at === 0 ? "long" : "short",
    maximumFractionDigits: 1,
  }).format(bytes / 1024 ** at);
}

/** Grows a text field with its text up to the height its style sheet allows. */
export function useAutoGrow(field: RefObject<HTMLTextAreaElement | null>, text: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height depends on the text
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = "auto";
    const border = element.offsetHeight - element.clientHeight;
    element.style.height = `${element.scrollHeight + border}px`;
  }, [field, text]);
}

/** The message field with its send and stop button. */
export const Composer = memo(function Composer({
  field,
  text,
  onText,
  running,
  limit,
  onSend,
  onStop,
  onEditLast,
  attachments,
  waiting = false,
}: {
  field: RefObject<HTMLTextAreaElement | null>;
  text: string;
  onText: (text: string) => void;
  running: boolean;
  limit: number | undefined;
  onSend: () => void;
  onStop: () => void;
  onEditLast: () => void;
  /** What stands before the field: the files of the message. */
  attachments?: ReactNode;
  /** The message cannot be sent yet: a file of it is on its way, or failed. */
  waiting?: boolean;
}) {
  const t = useText();
  const tag = languageTag(useLang());
  const id = useId();
  useAutoGrow(field, text);

  const size = limit === undefined ? 0 : encoder.encode(text).length;
  const tooLong = limit !== undefined && limit > 0 && size > limit;
  const ready = text.trim() !== "" && !tooLong && !waiting;

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (ready) onSend();
  };

  const keyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    const command = composerCommand(event.nativeEvent, text);
    if (command === "send") {
      event.preventDefault();
      if (ready) onSend();
    } else if (command === "nothing") {
      event.preventDefault();
    } else if (command === "editLast") {
      event.preventDefault();
      onEditLast();
    }
  };

  return (
    <form className="page-composer" onSubmit={submit}>
      {tooLong && (
        <p id={`${id}-long`} className="page-composer-long" role="alert">
          {t("composer.tooLong", {
            size: bytesText(size, tag),
            limit: bytesText(limit, tag),
          })}
        </p>
      )}
      <div className="page-composer-box">
        {attachments}
        <textarea
          ref={field}
          id={`${id}-text`}
          rows={1}
          value={text}
          aria-label={t("composer.label")}
          aria-describedby={tooLong ? `${id}-hint ${id}-long` : `${id}-hint`}
          aria-invalid={tooLong}
          placeholder={t("composer.placeholder")}
          enterKeyHint="send"
          onChange={(event) => onText(event.target.value)}
          onKeyDown={keyDown}
        />
        <span id={`${id}-hint`} hidden>
          {t("composer.hint")}
        </span>
        {running ? (
          <button
            key="action"
            type="button"
            className="page-send"
            data-stop="true"
            aria-label={t("composer.stop")}
            title={t("composer.stop")}
            onClick={onStop}
          >
            <Icon name="stop" />
          </button>
        ) : (
          <button
            key="action"
            type="submit"
            className="page-send"
            aria-label={t("composer.send")}
            title={t(waiting ? "composer.waiting" : "composer.send")}
            aria-disabled={!ready}
            onClick={(event) => {
              // The second half of a double click on "stop" must not send.
              if (event.detail > 1) event.preventDefault();
            }}
          >
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
});

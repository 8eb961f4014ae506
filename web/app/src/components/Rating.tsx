import type { Feedback, Rating as Thumb } from "@inlay-ui/client";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { useText } from "../i18n/index.ts";
import { isComposing } from "../keyboard.ts";
import { useAutoGrow } from "./Composer.tsx";
import { Icon } from "./Icon.tsx";

/** The most characters of a comment that the server takes. */
export const commentLimit = 2000;

const thumbs = ["up", "down"] as const;
const icons = { up: "thumbUp", down: "thumbDown" } as const;

/** What a reader has said of an answer here, and what came of telling the server. */
export interface RatingState {
  rating: Thumb | null;
  comment: string;
  /** The field for a comment is open. */
  asking: boolean;
  /** What went wrong or was done last, in the page's words. */
  note: "thanks" | "failed" | null;
  rate(thumb: Thumb): void;
  /** Sends the comment with the rating that there is. */
  explain(comment: string): void;
  close(): void;
}

/**
 * Keeps what a reader says of an answer: shown at once, sent, and put back
 * where the server refuses it. Pressing the same thumb again takes it back.
 */
export function useRating(
  given: Feedback | undefined,
  send: (rating: Thumb | null, comment?: string) => Promise<void>,
  announce: (text: string) => void,
): RatingState {
  const t = useText();
  const [own, setOwn] = useState<Feedback | null>(null);
  const [asking, setAsking] = useState(false);
  const [note, setNote] = useState<RatingState["note"]>(null);
  const { rating = null, comment = "" } = own ?? given ?? {};
  const turn = useRef(0);

  const tell = async (next: Feedback, done: string): Promise<boolean> => {
    const before = own;
    const mine = ++turn.current;
    setOwn(next);
    setNote(null);
    try {
      await send(next.rating ?? null, next.comment || undefined);
      if (mine === turn.current) announce(done);
      return mine === turn.current;
    } catch {
      // A later press counts more than an earlier failure.
      if (mine !== turn.current) return false;
      setOwn(before);
      setAsking(false);
      setNote("failed");
      announce(t("rating.failed"));
      return false;
    }
  };

  return {
    rating,
    comment,
    asking,
    note,
    rate(thumb) {
      const back = rating === thumb;
      setAsking(!back);
      void tell(
        back ? { rating: null } : { rating: thumb, comment },
        t(back ? "rating.undone" : `rating.said.${thumb}`),
      );
    },
    explain(text) {
      setAsking(false);
      void tell({ rating, comment: text }, t("rating.thanks")).then((told) => {
        if (told) setNote("thanks");
      });
    },
    close: () => setAsking(false),
  };
}

/** The two thumbs under an answer. */
export function Thumbs({ state }: { state: RatingState }) {
  const t = useText();
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div className="page-thumbs" role="group" aria-label={t("rating.label")}>
      {thumbs.map((thumb) => {
        const pressed = state.rating === thumb;
        const label = t(`rating.${thumb}`);
        return (
          <button
            key={thumb}
            type="button"
            className="page-icon-button"
            data-size="small"
            data-thumb={thumb}
            aria-label={label}
            aria-pressed={pressed}
            title={pressed ? t("rating.undo") : label}
            onClick={() => state.rate(thumb)}
          >
            <Icon name={icons[thumb]} />
          </button>
        );
      })}
    </div>
  );
}

/** The field for a comment while it is asked for, else what came of the last one. */
export function RatingComment({ state, onDone }: { state: RatingState; onDone: () => void }) {
  const t = useText();
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState(state.comment);
  useAutoGrow(field, text);
  // The field opens with what was said before.
  useEffect(() => {
    if (state.asking) setText(state.comment);
  }, [state.asking, state.comment]);
  if (!state.asking) {
    return state.note ? (
      <p className="page-rating-note" data-note={state.note}>
        {t(`rating.${state.note}`)}
      </p>
    ) : null;
  }
  const submit = () => {
    if (text.trim() === "" && state.comment === "") state.close();
    else state.explain(text.trim());
    onDone();
  };
  const keyDown = (event: KeyboardEvent) => {
    if (isComposing(event.nativeEvent)) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      state.close();
      onDone();
    }
  };
  return (
    <form
      className="page-rating"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <label htmlFor={id}>{t(state.rating === "down" ? "rating.askDown" : "rating.askUp")}</label>
      <textarea
        ref={field}
        id={id}
        rows={1}
        maxLength={commentLimit}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={keyDown}
      />
      <div className="page-edit-actions">
        <button
          type="button"
          className="page-button"
          onClick={() => {
            state.close();
            onDone();
          }}
        >
          {t("rating.skip")}
        </button>
        <button type="submit" className="page-button" data-primary="true">
          {t("rating.send")}
        </button>
      </div>
    </form>
  );
}

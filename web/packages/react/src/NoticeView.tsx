import { useEffect, useRef, useSyncExternalStore } from "react";
import { useInlay } from "./context.ts";
import { Dialog } from "./Dialog.tsx";
import { ErrorBoundary } from "./ErrorBoundary.tsx";
import type { Notice, Notices } from "./notices.ts";

/** How long good news stay. Bad ones stay until they are dismissed. */
const SHOWN_MS = 6_000;

/** The news of actions, in a corner of the page and read out politely, and their questions. */
export function NoticeView({ notices }: { notices: Notices }) {
  const { t } = useInlay();
  const {
    notices: news,
    question,
    panel,
  } = useSyncExternalStore(notices.subscribe, notices.getState, notices.getState);
  return (
    <>
      <div className="inlay-notices" aria-live="polite">
        {news.map((notice) => (
          <NoticeLine key={notice.id} notice={notice} onEnd={() => notices.dismiss(notice.id)} />
        ))}
      </div>
      {panel && (
        <ErrorBoundary
          of={panel}
          fallback={() => (
            <Dialog title={t("chat.block.crashed")} onClose={panel.close}>
              {null}
            </Dialog>
          )}
        >
          {panel.content}
        </ErrorBoundary>
      )}
      {question && (
        <Dialog title={question.title} role="alertdialog" onClose={() => question.answer(false)}>
          <p className="inlay-dialog-text">{question.text}</p>
          <div className="inlay-dialog-foot">
            <button
              type="button"
              className="inlay-button"
              // What cannot be undone is not one press of Enter away.
              {...(question.danger ? { "data-initial-focus": true } : {})}
              onClick={() => question.answer(false)}
            >
              {t("chat.block.cancel")}
            </button>
            <button
              type="button"
              className="inlay-button"
              data-style={question.danger ? "danger" : "primary"}
              {...(question.danger ? {} : { "data-initial-focus": true })}
              onClick={() => question.answer(true)}
            >
              {question.title}
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function NoticeLine({ notice, onEnd }: { notice: Notice; onEnd: () => void }) {
  const { t } = useInlay();
  const { tone, text, heard, retry } = notice;
  const end = useRef(onEnd);
  end.current = onEnd;
  useEffect(() => {
    if (tone === "bad") return;
    const timer = setTimeout(() => end.current(), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [tone]);
  if (heard) return <p className="inlay-visually-hidden">{text}</p>;
  return (
    <div className="inlay-notice" data-tone={tone}>
      <span>{text}</span>
      {retry && (
        <button
          type="button"
          className="inlay-button"
          onClick={() => {
            onEnd();
            retry();
          }}
        >
          {t("chat.block.tryAgain")}
        </button>
      )}
      <button
        type="button"
        className="inlay-quiet"
        aria-label={t("chat.notice.dismiss")}
        onClick={onEnd}
      >
        <span aria-hidden="true">✕</span>
      </button>
    </div>
  );
}

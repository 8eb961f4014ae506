import { useEffect, useMemo, useRef, useState } from "react";
import { useInlay } from "../context.ts";
import { dropDraft, loadDraft, saveDraft } from "./draft.ts";
import { withoutSecrets } from "./ui.ts";

type Data = Record<string, unknown>;

/** How long typing may go on before a draft is kept. */
const DRAFT_MS = 300;

/** What was typed into a block and not sent yet. */
export interface Kept {
  /** What was there when the block appeared; null for nothing, and after {@link restart}. */
  draft: Data | null;
  /** Changes when everything begins anew. */
  round: number;
  /** Keeps values, a little later. */
  save(values: Data): void;
  /** Keeps them now. */
  flush(): void;
  /** Forgets them: they were sent. */
  drop(): void;
  /** Forgets them, and begins anew. */
  restart(): void;
}

/**
 * Keeps what is typed into a block over a reload: a little after it was typed,
 * and at the latest when the page goes. Passwords, by the uiSchema, are not
 * kept. `over` says that nothing can be sent any more.
 */
export function useKept(blockId: string, ui: unknown, over = false): Kept {
  const [draft, setDraft] = useState(() => (over ? null : loadDraft(blockId)));
  const [round, setRound] = useState(0);
  const wait = useRef<{ timer: ReturnType<typeof setTimeout>; values: Data } | null>(null);
  const work = useMemo(() => {
    const stop = () => {
      if (wait.current) clearTimeout(wait.current.timer);
      const values = wait.current?.values;
      wait.current = null;
      return values;
    };
    const flush = () => {
      const values = stop();
      if (values) saveDraft(blockId, withoutSecrets(values, ui) as Data);
    };
    const drop = () => {
      stop();
      dropDraft(blockId);
    };
    return {
      flush,
      drop,
      save: (values: Data) => {
        stop();
        wait.current = { timer: setTimeout(flush, DRAFT_MS), values };
      },
      restart: () => {
        drop();
        setDraft(null);
        setRound((n) => n + 1);
      },
    };
  }, [blockId, ui]);
  useEffect(() => {
    window.addEventListener("pagehide", work.flush);
    return () => {
      window.removeEventListener("pagehide", work.flush);
      work.flush();
    };
  }, [work]);
  useEffect(() => {
    if (over) work.drop();
  }, [over, work]);
  return useMemo(() => ({ draft, round, ...work }), [draft, round, work]);
}

/** Says that something was kept, and offers to begin anew. */
export function Restored({ onRestart }: { onRestart(): void }) {
  const { t } = useInlay();
  return (
    <p className="inlay-block-note">
      <span>{t("chat.form.restored")}</span>
      <button type="button" className="inlay-quiet" onClick={onRestart}>
        {t("chat.form.startOver")}
      </button>
    </p>
  );
}

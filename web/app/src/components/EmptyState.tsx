import { useId, useLayoutEffect, useRef, useState } from "react";
import { useText } from "../i18n/index.ts";

/** As many questions are there to begin with; the others come when asked for. */
const atFirst = 6;

/** What the assistant can do, as questions to ask with one click. */
export function EmptyState({
  suggestions,
  onAsk,
}: {
  suggestions: readonly { text: string }[];
  onAsk: (text: string) => void;
}) {
  const t = useText();
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const [all, setAll] = useState(false);
  // The button is gone then; who used it goes on with what it brought.
  useLayoutEffect(() => {
    if (all) list.current?.querySelectorAll("button")[atFirst]?.focus();
  }, [all]);
  const left = all ? 0 : suggestions.length - atFirst;
  return (
    <section className="page-empty" aria-labelledby={id}>
      <h2 id={id}>{t("empty.title")}</h2>
      <p>{t("empty.body")}</p>
      {suggestions.length > 0 && (
        <ul ref={list} className="page-suggestions" aria-label={t("empty.suggestions")}>
          {(left > 0 ? suggestions.slice(0, atFirst) : suggestions).map((suggestion) => (
            <li key={suggestion.text}>
              <button type="button" onClick={() => onAsk(suggestion.text)}>
                {suggestion.text}
              </button>
            </li>
          ))}
        </ul>
      )}
      {left > 0 && (
        <button type="button" className="page-button page-empty-more" onClick={() => setAll(true)}>
          {t("empty.more", { n: left })}
        </button>
      )}
    </section>
  );
}

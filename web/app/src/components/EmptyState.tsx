import { useId } from "react";
import { useText } from "../i18n/index.ts";

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
  return (
    <section className="page-empty" aria-labelledby={id}>
      <h2 id={id}>{t("empty.title")}</h2>
      <p>{t("empty.body")}</p>
      {suggestions.length > 0 && (
        <ul className="page-suggestions" aria-label={t("empty.suggestions")}>
          {suggestions.map((suggestion) => (
            <li key={suggestion.text}>
              <button type="button" onClick={() => onAsk(suggestion.text)}>
                {suggestion.text}
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

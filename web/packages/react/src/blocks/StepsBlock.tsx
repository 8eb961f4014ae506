import type { StepsItem, StepsPayload } from "@inlay-ui/client";
import { useT } from "../context.ts";
import type { BlockProps } from "../registry.ts";

const marks: Record<StepsItem["status"], string> = {
  pending: "M12 12h.01",
  running: "M12 4a8 8 0 0 1 8 8",
  done: "m7 12.5 3.5 3.5 6.5-7",
  error: "m8 8 8 8M16 8l-8 8",
  skipped: "M8 12h8",
};

/** Draws a `steps` block: what is done, what runs and what is still to come. */
export default function StepsBlock({ payload }: BlockProps<StepsPayload>) {
  const t = useT();
  const { items } = payload;
  const done = items.filter((item) => item.status === "done" || item.status === "skipped").length;
  if (items.length === 0) return <p className="inlay-empty">{t("chat.block.cards.empty")}</p>;
  return (
    <div className="inlay-steps-block">
      <ol className="inlay-steps">
        {items.map((item) => (
          <li
            key={item.id}
            className="inlay-step"
            data-status={item.status}
            aria-current={item.status === "running" ? "step" : undefined}
          >
            <svg className="inlay-step-mark" viewBox="0 0 24 24" aria-hidden="true">
              <path d={marks[item.status]} />
            </svg>
            <div className="inlay-step-words">
              <span className="inlay-step-label" dir="auto">
                {item.label}
              </span>{" "}
              <span
                className={
                  item.status === "done" || item.status === "pending"
                    ? "inlay-visually-hidden"
                    : "inlay-step-status"
                }
              >
                {t(`chat.block.steps.${item.status}`)}
              </span>
              {item.detail ? (
                <p className="inlay-step-detail" dir="auto">
                  {item.detail}
                </p>
              ) : null}
            </div>
          </li>
        ))}
      </ol>
      <p className="inlay-muted inlay-figures">
        {t("chat.block.steps.sum", { done, total: items.length })}
      </p>
    </div>
  );
}

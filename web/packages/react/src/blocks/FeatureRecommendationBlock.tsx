import type {
  Block,
  FeatureRecommendationPayload,
  FeatureRecommendationItem as Item,
} from "@inlay-ui/client";
import { checkFeatureRecommendation } from "@inlay-ui/client/validate";
import { useId, useMemo } from "react";
import { InvalidPayload } from "../BlockView.tsx";
import { useInlay } from "../context.ts";
// Loaded with the card, so that a click opens its window at once.
import { lacks } from "../recommendation/follow.ts";
import { Icon, OutsideMark } from "../recommendation/icons.tsx";
import { loadRecommendationWords } from "../recommendation/words.ts";
import type { BlockProps } from "../registry.ts";

loadRecommendationWords();

/** Draws a `minara.feature_recommendation` block: one or two buttons that lead to a next step. */
export default function FeatureRecommendationBlock({
  block,
  payload,
}: BlockProps<FeatureRecommendationPayload>) {
  const { t } = useInlay();
  const id = useId();
  const problem = useMemo(
    () => checkFeatureRecommendation(payload, { modals: "any", open: true }),
    [payload],
  );
  if (problem !== null) return <InvalidPayload block={block} />;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields of a form
    <div className="inlay-next" role="group" aria-labelledby={id}>
      <p className="inlay-next-label" id={id}>
        {t("chat.recommendation.label")}
      </p>
      <div className="inlay-next-items">
        {payload.items.map((item) => (
          <ItemButton key={item.id} block={block} item={item} />
        ))}
      </div>
    </div>
  );
}

function ItemButton({ block, item }: { block: Block; item: Item }) {
  const { t, host, ...around } = useInlay();
  const id = useId();
  const { label, hint, icon, action } = item;
  const missing = lacks(action, around);
  const notes = {
    hint,
    off: missing ? t(`chat.recommendation.off.${missing}`) : undefined,
    outside:
      action.kind === "external"
        ? t("chat.recommendation.outside", { host: hostOf(action.url) })
        : undefined,
  };
  const described = Object.entries(notes).filter(([, text]) => text !== undefined);
  return (
    // The button is named by its label alone, and pressed anywhere in its frame.
    <div
      className="inlay-next-item"
      data-icon={icon !== undefined || undefined}
      data-off={missing !== null || undefined}
    >
      <button
        type="button"
        className="inlay-next-button"
        data-item-id={item.id}
        data-kind={action.kind}
        title={notes.off ?? notes.outside}
        aria-describedby={described.map(([name]) => `${id}-${name}`).join(" ") || undefined}
        aria-disabled={missing !== null}
        onClick={() => {
          if (missing === null) void host.follow(block, item);
        }}
      >
        {icon && <Icon name={icon} />}
        {label}
        {action.kind === "external" && <OutsideMark />}
      </button>
      {described.map(([name, text]) => (
        <span key={name} id={`${id}-${name}`} className="inlay-next-hint">
          {text}
        </span>
      ))}
    </div>
  );
}

/** The host that an address names; one that no browser could open has one too. */
function hostOf(url: string): string {
  return url.replace(/^https:\/\//, "").replace(/[/?#].*$/, "");
}

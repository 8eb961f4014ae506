import type { ToolActivity } from "@inlay-ui/client";
import { useState } from "react";
import { languageTag, type Translate, useLang, useText } from "../i18n/index.ts";
import { type ToolDetails, toolDetails } from "../trajectory.ts";

/** Words one tool call: what was done, how it went, how long it took. */
export function toolLine(tool: ToolActivity, t: Translate, tag: string): string {
  const seconds = (tool.durationMs ?? 0) / 1000;
  const time =
    seconds < 0.05
      ? t("tool.instant")
      : t("tool.seconds", {
          n: new Intl.NumberFormat(tag, {
            minimumFractionDigits: 1,
            maximumFractionDigits: 1,
          }).format(seconds),
        });
  // A title says itself what is done; a bare name is of something looked up.
  return tool.title
    ? t(`tool.titled.${tool.status}`, { title: tool.title, time })
    : t(`tool.${tool.status}`, { name: tool.name.replaceAll("_", " "), time });
}

/**
 * The tool calls of a message, one quiet line each. Where the reader may see
 * what was sent and what came back, a line opens to it.
 */
export function ToolLines({
  tools,
  loadTrajectory,
}: {
  tools: readonly ToolActivity[];
  loadTrajectory: (() => Promise<unknown>) | null;
}) {
  return (
    <ul className="page-tools">
      {tools.map((tool) => (
        <li key={tool.id} data-status={tool.status} data-sub={tool.sub || undefined}>
          <ToolLine tool={tool} loadTrajectory={loadTrajectory} />
        </li>
      ))}
    </ul>
  );
}

function ToolLine({
  tool,
  loadTrajectory,
}: {
  tool: ToolActivity;
  loadTrajectory: (() => Promise<unknown>) | null;
}) {
  const t = useText();
  const tag = languageTag(useLang());
  const [details, setDetails] = useState<ToolDetails | "loading" | "none" | null>(null);
  const line = toolLine(tool, t, tag);
  if (!loadTrajectory || tool.status === "running") return <span>{line}</span>;
  const load = async () => {
    if (details !== null && details !== "none") return;
    setDetails("loading");
    try {
      setDetails(toolDetails(await loadTrajectory(), tool.id) ?? "none");
    } catch {
      setDetails("none");
    }
  };
  return (
    <details
      onToggle={(event) => {
        if (event.currentTarget.open) void load();
      }}
    >
      <summary>{line}</summary>
      {details === "loading" && <p>{t("tool.loadingDetails")}</p>}
      {details === "none" && <p>{t("tool.noDetails")}</p>}
      {details !== null && typeof details === "object" && (
        <dl>
          <dt>{t("tool.arguments")}</dt>
          <dd>
            <pre>{details.input}</pre>
          </dd>
          <dt>{t("tool.result")}</dt>
          <dd>
            <pre>{details.output}</pre>
          </dd>
        </dl>
      )}
    </details>
  );
}

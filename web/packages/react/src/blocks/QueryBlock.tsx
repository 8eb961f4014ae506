import type { Action, QueryPayload, QueryTimeRange } from "@inlay-ui/client";
import { useId, useState } from "react";
import { ActionButton, StateLine, useBlockActions } from "../actions.tsx";
import { useInlay } from "../context.ts";
import { localMoment, zonedMoment } from "../form/moments.ts";
import { loadFormWords } from "../form/words.ts";
import { standsAlone } from "../host.ts";
import type { Translate } from "../i18n/index.ts";
import { CodeText, CopyButton } from "../markdown/CodeView.tsx";
import { stateOf } from "../outcome.ts";
import type { BlockProps } from "../registry.ts";
import { formatMoment, parseMoment } from "./format.ts";

loadFormWords();

/** The spans that can be picked, as the server reads them. */
const spans = ["15m", "1h", "6h", "24h", "7d", "30d"] as const;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The action that runs the statement on the server. */
export function runAction(actions: readonly Action[] | undefined): Action | undefined {
  const api = actions?.filter((a) => a.kind === "api") ?? [];
  return api.find((a) => a.action === "run_query") ?? api.find((a) => a.id === "run");
}

/** What the server takes of other times than the block's. */
interface RangeRule {
  /** The longest span, as the server writes it. */
  longest: string | undefined;
  /** The span up to now that it takes when nobody says another. */
  standard: string | undefined;
}

/** The rule of an action; null when it takes no other time. */
function rangeRule(action: Action | undefined): RangeRule | null {
  const schema = action?.inputSchema;
  const properties = isObject(schema) ? schema.properties : undefined;
  if (!isObject(properties) || !Object.hasOwn(properties, "timeRange")) return null;
  const range = isObject(properties.timeRange) ? properties.timeRange : {};
  const spanOf = (value: unknown) =>
    typeof value === "string" && lengthOf(value) !== undefined ? value : undefined;
  return {
    longest: spanOf(range["x-max-range"]),
    standard: spanOf(range["x-default-range"]),
  };
}

const units: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** The milliseconds of a span such as 24h. */
function lengthOf(span: string): number | undefined {
  const [, count, unit = ""] = /^([1-9]\d{0,8})([smhdw])$/.exec(span) ?? [];
  return count === undefined ? undefined : Number(count) * (units[unit] ?? 0);
}

/** The time that was chosen: none is the block's own. */
interface Choice {
  range: QueryTimeRange | null;
  /** Why it cannot be asked for. */
  wrong?: string | undefined;
}

/** Draws a `query` block: the statement, the time it looks at, and what can be done with it. */
export default function QueryBlock({
  block,
  payload,
  messageId,
  loading,
}: BlockProps<QueryPayload>) {
  const { t, lang } = useInlay();
  const { standing, run } = useBlockActions(block, messageId);
  const runs = runAction(block.actions);
  const rule = rangeRule(runs);
  const [{ range, wrong }, setChoice] = useState<Choice>({ range: null });
  const others =
    block.actions?.filter((a) => a !== runs && a.id !== "copy" && standsAlone(a)) ?? [];
  const copy = block.actions?.find((a) => a.kind === "local" && (a.action ?? a.id) === "copy");
  const { timeRange } = payload;
  const statement = payload.statement.replace(/\n$/, "");
  const long = statement.split("\n").length > 24;
  const own = runs && standing(runs);
  return (
    <>
      <figure className="inlay-code inlay-code-framed">
        <figcaption className="inlay-code-head">
          <span className="inlay-code-lang">{payload.lang}</span>
          {payload.dataSource && <span className="inlay-muted">{payload.dataSource}</span>}
          <CopyButton text={payload.statement} {...(copy ? { label: copy.label } : {})} />
        </figcaption>
        <pre
          className={long ? "inlay-scroll inlay-code-long" : "inlay-scroll"}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the code scrolls and must be reachable by keyboard
          tabIndex={0}
        >
          <CodeText code={statement} lang={payload.lang.toLowerCase()} streaming={loading} />
        </pre>
      </figure>
      {timeRange && !rule && (
        <p className="inlay-muted inlay-query-time">
          {t("chat.query.rangeIs", { range: rangeText(timeRange, t, lang) })}
        </p>
      )}
      {block.status === "done" && (runs || others.length > 0 || stateOf(block) !== null) && (
        <div className="inlay-actions inlay-query-foot">
          {runs && own && (
            <>
              {rule && (
                <RangeChooser
                  given={timeRange}
                  rule={rule}
                  onChange={setChoice}
                  disabled={own.busy}
                />
              )}
              <button
                type="button"
                className="inlay-button"
                data-style={runs.style ?? "primary"}
                data-action-id={runs.id}
                disabled={own.disabled}
                aria-disabled={own.busy || wrong !== undefined}
                aria-busy={own.busy}
                onClick={() => {
                  if (!own.busy && wrong === undefined)
                    void run(runs, range ? { timeRange: range } : {});
                }}
              >
                {own.busy ? t("chat.query.running") : runs.label}
              </button>
            </>
          )}
          {others.map((action) => (
            <ActionButton key={action.id} block={block} messageId={messageId} action={action} />
          ))}
          <StateLine block={block} />
          {wrong !== undefined && (
            <p className="inlay-field-error" role="alert">
              {wrong}
            </p>
          )}
        </div>
      )}
    </>
  );
}

function momentText(value: string | number, lang: string): string {
  const moment = parseMoment(value);
  return moment ? formatMoment(moment, lang) : String(value);
}

function spanText(span: string, t: Translate): string {
  const unit = span.slice(-1);
  const text = t(`chat.query.unit.${unit}`, { count: Number(span.slice(0, -1)) });
  return text.startsWith("chat.") ? span : text;
}

/** The span up to now that a range is, if it is one. */
function spanOf({ from, to }: QueryTimeRange): string | undefined {
  return typeof from === "string" && to === "now"
    ? /^now-(\d+[smhdw])$/.exec(from)?.[1]
    : undefined;
}

/** A range in words: "Last 1 hour", or its two ends. */
function rangeText(range: QueryTimeRange, t: Translate, lang: string): string {
  const span = spanOf(range);
  if (span) return t("chat.query.preset.last", { span: spanText(span, t) });
  return `${momentText(range.from, lang)} – ${momentText(range.to, lang)}`;
}

/** The time to look at: the block's own, a span up to now, or any two ends; none longer than the server lets it be. */
function RangeChooser({
  given,
  rule: { longest, standard },
  onChange,
  disabled,
}: {
  given: QueryTimeRange | undefined;
  rule: RangeRule;
  onChange(choice: Choice): void;
  disabled: boolean;
}) {
  const { t, lang } = useInlay();
  const id = useId();
  const [choice, setChoice] = useState("");
  const [ends, setEnds] = useState({ from: "", to: "" });
  const most = longest === undefined ? undefined : lengthOf(longest);
  const own = given ? spanOf(given) : standard;
  const offered = spans.filter((span) => most === undefined || (lengthOf(span) ?? 0) <= most);
  const all: string[] = [...offered];
  if (longest !== undefined && !offered.some((span) => lengthOf(span) === most)) all.push(longest);
  const custom = (next: { from: string; to: string }) => {
    setEnds(next);
    if (next.from === "" || next.to === "") {
      onChange({ range: null, wrong: t("chat.query.incomplete") });
      return;
    }
    const length = new Date(next.to).getTime() - new Date(next.from).getTime();
    let wrong: string | undefined;
    if (length <= 0) wrong = t("chat.query.backwards");
    else if (longest !== undefined && most !== undefined && length > most) {
      wrong = t("chat.query.tooLong", { span: spanText(longest, t) });
    }
    onChange({ range: { from: zonedMoment(next.from), to: zonedMoment(next.to) }, wrong });
  };
  return (
    <span className="inlay-query-range">
      <label className="inlay-visually-hidden" htmlFor={id}>
        {t("chat.query.range")}
      </label>
      <select
        id={id}
        className="inlay-input"
        disabled={disabled}
        value={choice}
        onChange={({ target }) => {
          setChoice(target.value);
          if (target.value !== "custom") {
            const range = { from: `now-${target.value}`, to: "now" };
            onChange({ range: target.value === "" ? null : range });
            return;
          }
          const now = Date.now();
          const hour = Math.min(3_600_000, most ?? Number.POSITIVE_INFINITY);
          const start = parseMoment(given?.from) ? given?.from : now - hour;
          const end = parseMoment(given?.to) ? given?.to : now;
          custom({ from: localOf(start), to: localOf(end) });
        }}
      >
        <option value="">
          {given
            ? rangeText(given, t, lang)
            : standard
              ? rangeText({ from: `now-${standard}`, to: "now" }, t, lang)
              : t("chat.query.range")}
        </option>
        {all
          .filter((span) => span !== own)
          .map((span) => (
            <option key={span} value={span}>
              {t("chat.query.preset.last", { span: spanText(span, t) })}
            </option>
          ))}
        <option value="custom">{t("chat.query.preset.custom")}</option>
      </select>
      {choice === "custom" &&
        (["from", "to"] as const).map((end) => (
          <label key={end} className="inlay-date">
            <span className="inlay-muted">{t(`chat.form.${end}`)}</span>
            <input
              type="datetime-local"
              className="inlay-input"
              disabled={disabled}
              value={ends[end]}
              onChange={({ target }) => custom({ ...ends, [end]: target.value })}
            />
          </label>
        ))}
    </span>
  );
}

function localOf(value: string | number | undefined): string {
  const at = value === undefined ? new Date() : new Date(value);
  return Number.isNaN(at.getTime()) ? "" : localMoment(at.toISOString());
}

import type { Block } from "@inlay-ui/client";
import {
  createElement,
  memo,
  type ReactNode,
  Suspense,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import { ActionButton, type Local, LocalContext, StateLine } from "./actions.tsx";
import { copyText } from "./blocks/download.ts";
import { formatTime } from "./clock.ts";
import { useInlay } from "./context.ts";
import { ErrorBoundary } from "./ErrorBoundary.tsx";
import { localOperation, standsAlone } from "./host.ts";
import { errorText } from "./i18n/index.ts";
import { Menu, MenuContext } from "./menu.tsx";
import { stateOf } from "./outcome.ts";
import type { BlockProps, Found, MenuItem } from "./registry.ts";
import { DEFAULT_HEIGHT, Skeleton } from "./Skeleton.tsx";

/**
 * One block in its frame: skeleton, content, error, or its fallback text where
 * this client cannot draw it. It is drawn again only when the block itself
 * is another one.
 */
export const BlockView = memo(function BlockView({
  block,
  messageId,
}: {
  block: Block;
  messageId: string;
}) {
  const { registry } = useInlay();
  const found = useMemo(
    () => registry.find(block.type, block.version),
    [registry, block.type, block.version],
  );
  const loading = block.status === "loading";
  const problem = useMemo(
    () => (found && block.payload !== undefined ? check(found, block.payload, loading) : null),
    [found, block.payload, loading],
  );
  if (found?.entry.bare && problem === null && block.payload !== undefined) {
    return (
      <div className="inlay-bare" {...data(block)}>
        <Body found={found} block={block} messageId={messageId} />
      </div>
    );
  }
  if (!found) return <UnknownBlockCard block={block} messageId={messageId} />;
  return <Frame block={block} messageId={messageId} found={found} problem={problem} />;
});

/** A block of a type that this client has no renderer for: its fallback text, and quietly its type. */
export function UnknownBlockCard({ block, messageId }: { block: Block; messageId: string }) {
  return <Frame block={block} messageId={messageId} found={null} problem={null} />;
}

/** What stands in the place of a payload that failed its check. */
export function InvalidPayload({ block, older }: { block: Block; older?: boolean }) {
  const { t } = useInlay();
  return (
    <>
      <p className="inlay-block-note">{t(older ? "chat.unknown.note" : "chat.block.invalid")}</p>
      <Fallback block={block} />
    </>
  );
}

function data(block: Block) {
  return {
    "data-block-id": block.id,
    "data-block-type": block.type,
    "data-block-status": block.status,
  };
}

/** What a renderer says against a payload; a check that fails itself counts too. */
function check(found: Found, payload: unknown, loading: boolean): string | null {
  try {
    return found.entry.check?.(payload, loading) ?? null;
  } catch (error) {
    return String(error);
  }
}

function Frame({
  block,
  messageId,
  found,
  problem,
}: {
  block: Block;
  messageId: string;
  found: Found | null;
  problem: string | null;
}) {
  const { t, lang, host } = useInlay();
  const id = useId();
  const content = useRef<HTMLDivElement>(null);
  const [own, setOwn] = useState<MenuItem[]>([]);
  const [busy, setBusy] = useState(false);
  const { meta, status, error } = block;
  const title = meta?.title ?? (found?.entry.titled ? undefined : titleOf(block.payload));
  const bare = found?.entry.bare;
  const drawn = found && problem === null && block.payload !== undefined && status !== "error";

  const again = async (what: "retry" | "refresh") => {
    if (busy) return;
    setBusy(true);
    try {
      await host[what](messageId, block.id);
    } finally {
      setBusy(false);
    }
  };
  const retry = error?.retryable ? (
    <button
      type="button"
      className="inlay-button"
      aria-disabled={busy}
      onClick={() => void again(status === "done" ? "refresh" : "retry")}
    >
      {busy ? t("chat.block.busy") : t("chat.block.tryAgain")}
    </button>
  ) : null;

  let body: ReactNode;
  const height = meta?.estimatedHeight ?? found?.entry.height;
  if (status === "error") {
    const why = <span>{errorText(t, error?.code ?? "unknown", error?.message)}</span>;
    body =
      retry && error?.code === "HYDRATE_TIMEOUT" ? (
        // Its place is kept: what was late may come yet.
        <div className="inlay-late" style={{ minHeight: height ?? DEFAULT_HEIGHT }}>
          {why}
          {retry}
        </div>
      ) : (
        <>
          <div
            className="inlay-block-note"
            data-tone={isSource(block.fallback) && !retry ? undefined : "error"}
          >
            {why}
            {retry}
          </div>
          <Fallback block={block} />
        </>
      );
  } else if (drawn) {
    body = (
      <>
        {error && (
          <div className="inlay-block-note" data-tone="error">
            <span>
              {t("chat.block.refreshFailed", { reason: errorText(t, error.code, error.message) })}
            </span>
            {retry}
          </div>
        )}
        {found.older && <p className="inlay-block-note">{t("chat.block.inPart")}</p>}
        <Body found={found} block={block} messageId={messageId} />
        {meta?.truncated && <p className="inlay-block-note">{t("chat.block.truncated")}</p>}
      </>
    );
  } else if (status === "loading") {
    body = <Skeleton height={height} title={title} />;
  } else if (found) {
    body = <InvalidPayload block={block} older={found.older} />;
  } else {
    body = (
      <>
        <Fallback block={block} />
        <p className="inlay-block-note">
          <span>{t("chat.unknown.note")}</span>
          <span className="inlay-unknown-type">{t("chat.unknown.type", { type: block.type })}</span>
        </p>
      </>
    );
  }

  const items: MenuItem[] = [];
  if (drawn) {
    const props: BlockProps = { block, payload: block.payload, messageId, loading: false };
    items.push(...(found.entry.menu?.(props, t) ?? []), ...own);
  }
  if (meta?.canRefresh && status === "done") {
    items.push({
      id: "refresh",
      label: t("chat.menu.refresh"),
      run: () => again("refresh"),
      disabled: busy,
    });
  }
  const folds = block.actions?.some((a) => a.kind === "local" && localOperation(a) === "expand");
  const [folded, setFolded] = useState<boolean | null>(null);
  // What can be expanded is folded at first.
  const open = !(folded ?? folds ?? false);
  const latest = useRef({ block, items });
  latest.current = { block, items };
  const local = useMemo<Local>(
    () => ({
      open,
      run: async (operation, action) => {
        if (operation === "expand" || operation === "collapse") {
          setFolded(open);
          return true;
        }
        const entry = menuEntry(latest.current.items, operation, action.params?.format);
        if (entry) {
          await entry.run();
          return true;
        }
        if (operation !== "copy") return false;
        return copyText(textOf(latest.current.block) || (content.current?.textContent ?? ""));
      },
    }),
    [open],
  );
  const asOf = meta?.refreshedAt ?? meta?.fetchedAt;
  // A failed block without a title has nothing to head.
  const origin = status !== "error" && (asOf || meta?.source);
  const head = !bare && (title || origin || items.length > 0);
  return (
    <section
      className="inlay-block"
      {...data(block)}
      aria-labelledby={title ? id : undefined}
      aria-busy={status === "loading"}
    >
      {head && (
        <header
          className="inlay-block-head"
          data-untitled={(found?.entry.titled && !title) || undefined}
        >
          {title && (
            <h3 className="inlay-block-title" id={id}>
              {title}
            </h3>
          )}
          <span className="inlay-block-origin">
            {meta?.source && (
              <span className="inlay-block-source">
                {t("chat.block.source", { source: meta.source })}
              </span>
            )}
            {asOf !== undefined && (
              <time className="inlay-block-asof" dateTime={new Date(asOf).toISOString()}>
                {t("chat.block.asOf", { time: formatTime(lang, asOf) })}
              </time>
            )}
          </span>
          <Menu
            items={items}
            label={title ? t("chat.menu.open", { title }) : t("chat.menu.openUntitled")}
          />
        </header>
      )}
      <LocalContext.Provider value={local}>
        <MenuContext.Provider value={setOwn}>
          <div className="inlay-block-body" data-folded={!open || undefined} ref={content}>
            {body}
          </div>
        </MenuContext.Provider>
        {status === "done" && (
          <Actions block={block} messageId={messageId} found={drawn ? found : null} />
        )}
      </LocalContext.Provider>
    </section>
  );
}

/** The renderer's own drawing; what goes wrong in it stays in it. */
function Body({ found, block, messageId }: { found: Found; block: Block; messageId: string }) {
  const { t, registry } = useInlay();
  const { meta, payload } = block;
  // Asked for again after a failed load, which the registry then forgot.
  const [, setTries] = useState(0);
  const component = registry.find(block.type, block.version)?.component ?? found.component;
  return (
    <ErrorBoundary
      of={payload}
      onReset={() => {
        registry.forget(found.entry);
        setTries((n) => n + 1);
      }}
      fallback={(again) => (
        <>
          <div className="inlay-block-note" data-tone="error">
            <span>{t("chat.block.crashed")}</span>
            <button type="button" className="inlay-button" onClick={again}>
              {t("chat.block.tryAgain")}
            </button>
          </div>
          <Fallback block={block} />
        </>
      )}
    >
      <Suspense
        fallback={
          <Skeleton height={meta?.estimatedHeight ?? found.entry.height} title={meta?.title} />
        }
      >
        {createElement(component, {
          block,
          payload,
          messageId,
          loading: block.status === "loading",
        })}
      </Suspense>
    </ErrorBoundary>
  );
}

function Fallback({ block }: { block: Block }) {
  const text = block.fallback ?? (typeof block.payload === "string" ? block.payload : "");
  if (!text) return null;
  return isSource(text) ? (
    <pre className="inlay-source">
      <code>{text}</code>
    </pre>
  ) : (
    <div className="inlay-block-fallback">{text}</div>
  );
}

/** Whether a text stands for a card as its source: a fence, an object, a placeholder or an element. */
function isSource(text: string | undefined): boolean {
  return /^\s*(?:`{3}|~{3}|[{<]|\[\()/.test(text ?? "");
}

/** The block's actions as buttons, and what came of the last one. */
function Actions({
  block,
  messageId,
  found,
}: {
  block: Block;
  messageId: string;
  found: Found | null;
}) {
  const own = found?.entry.ownActions?.(block) ?? [];
  if (own === "all") return null;
  const actions = block.actions?.filter((a) => standsAlone(a) && !own.includes(a.id)) ?? [];
  if (actions.length === 0 && stateOf(block) === null) return null;
  return (
    <footer className="inlay-block-foot">
      {actions.map((action) => (
        <ActionButton key={action.id} block={block} messageId={messageId} action={action} />
      ))}
      <StateLine block={block} />
    </footer>
  );
}

/** The entry of a block's menu that does what a `local` action wants. */
function menuEntry(items: MenuItem[], operation: string, format: unknown): MenuItem | undefined {
  if (operation === "copy") return items.find((item) => item.id === "copy");
  const wanted = typeof format === "string" ? [format] : ["download", "csv", "xlsx", "png", "svg"];
  return wanted.map((id) => items.find((item) => item.id === id)).find((item) => item);
}

/** The text that a block stands for. */
function textOf({ payload, fallback }: Block): string {
  if (typeof payload === "string") return payload;
  if (typeof payload === "object" && payload !== null) {
    for (const name of ["statement", "source"]) {
      const text = (payload as Record<string, unknown>)[name];
      if (typeof text === "string") return text;
    }
  }
  return fallback ?? "";
}

function titleOf(payload: unknown): string | undefined {
  if (typeof payload !== "object" || payload === null || !("title" in payload)) return undefined;
  return typeof payload.title === "string" && payload.title !== "" ? payload.title : undefined;
}

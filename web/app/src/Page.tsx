import type {
  ClientConfig,
  Conversation,
  ExportFormat,
  InlayClient,
  Message,
} from "@inlay-ui/client";
import { useChat } from "@inlay-ui/react";
import {
  lazy,
  type Ref,
  Suspense,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { Announcer, announcements } from "./announce.ts";
import type { AttachmentsHandle } from "./components/Attachments.tsx";
import { Composer } from "./components/Composer.tsx";
import { DemoBadge } from "./components/DemoBadge.tsx";
import { EmptyState } from "./components/EmptyState.tsx";
import { ErrorNote } from "./components/ErrorNote.tsx";
import { Icon } from "./components/Icon.tsx";
import { Sidebar } from "./components/Sidebar.tsx";
import { TopBar } from "./components/TopBar.tsx";
import { Turn, type TurnActions } from "./components/Turn.tsx";
import { useMedia } from "./components/useMedia.ts";
import { useRoute } from "./components/useRoute.ts";
import { useStable } from "./components/useStable.ts";
import { useStickyScroll } from "./components/useStickyScroll.ts";
import { ConversationList } from "./conversations.ts";
import { downloadExport } from "./download.ts";
import { type Failure, needsSignIn, toFailure } from "./errors.ts";
import { languageTag, useLang, useText } from "./i18n/index.ts";
import { type PageCommand, pageCommand, takesText } from "./keyboard.ts";
import { prefilled } from "./prefill.ts";
import type { Settings } from "./settings.ts";
import { attachmentBlock, lastUserMessage, pendingBlock } from "./transcript.ts";

// What is rarely used comes after the page is there.
const Attachments = lazy(() => import("./components/Attachments.tsx"));
const KeyboardHelp = lazy(() => import("./components/KeyboardHelp.tsx"));

const narrowQuery = "(max-width: 799px)";
const newDraft = "";

/** What blocks ask of the page around them. */
export interface PageHandle {
  /** Shows a conversation, or a new one. */
  go(conversationId: string | null): void;
  /** Puts a slash command into the message field, for the reader to send. */
  prefill(command: string): void;
}

/** The conversations, the messages of one of them, and the field to write the next one. */
export function Page({
  handle,
  client,
  config,
  token,
  settings,
  onSettings,
  onSignInNeeded,
  onSignOut,
}: {
  handle: Ref<PageHandle>;
  client: InlayClient;
  config: ClientConfig;
  token: string | null;
  settings: Settings;
  onSettings: (change: Partial<Settings>) => void;
  onSignInNeeded: () => void;
  onSignOut: () => void;
}) {
  const t = useText();
  const tag = languageTag(useLang());
  const route = useRoute();
  const narrow = useMedia(narrowQuery);
  const [drawer, setDrawer] = useState(false);
  const sidebarOpen = narrow ? drawer : settings.sidebar;

  const list = useMemo(() => new ConversationList(client), [client]);
  const listState = useSyncExternalStore(list.subscribe, list.getState);
  const chat = useChat(route.conversationId ? { conversationId: route.conversationId } : {});
  const { messages, status, connection, error } = chat;
  const busy = status === "sending" || status === "streaming";

  const [drafts, setDrafts] = useState<Record<string, string>>({});
  const [editing, setEditing] = useState<string | null>(null);
  const [help, setHelp] = useState(false);
  const [stopping, setStopping] = useState(false);
  const [pageFailure, setPageFailure] = useState<Failure | null>(null);
  const [dismissed, setDismissed] = useState<unknown>(null);

  const composer = useRef<HTMLTextAreaElement>(null);
  const attached = useRef<AttachmentsHandle>(null);
  const [filesReady, setFilesReady] = useState(true);
  const search = useRef<HTMLInputElement>(null);
  const toggle = useRef<HTMLButtonElement>(null);
  const empty = route.conversationId === null && messages.length === 0;
  const feed = useStickyScroll(chat.conversationId ?? "", empty);
  // Has no dependencies: every change of this page may change the feed's height.
  useLayoutEffect(feed.sync);
  const live = useRef<HTMLDivElement>(null);
  const [announcer] = useState(
    () =>
      new Announcer((text) => {
        if (live.current) live.current.textContent = text;
      }),
  );

  const { conversationId } = route;
  const draftKey = conversationId ?? newDraft;
  const draft = drafts[draftKey] ?? "";
  const setDraft = (text: string) => setDrafts((old) => ({ ...old, [draftKey]: text }));

  const focusComposer = useCallback(() => composer.current?.focus(), []);
  const fail = useCallback((error: unknown) => setPageFailure(toFailure(error)), []);

  // A conversation that began here gets its address.
  const { go } = route;
  const startedId = chat.conversationId ?? null;
  useEffect(() => {
    if (conversationId === null && startedId !== null) go(startedId, "replace");
  }, [conversationId, startedId, go]);

  const say = useCallback((text: string) => announcer.say(text), [announcer]);
  useAnnouncements(messages, chat.conversationId ?? null, announcer);

  // The list shows the new title, order and running mark when a turn begins and ends.
  const known = useRef(status);
  useEffect(() => {
    if (known.current === status) return;
    known.current = status;
    if (status !== "sending") list.changed();
    if (status !== "streaming") setStopping(false);
  }, [status, list]);
  const { conversation, deleted } = chat;
  useEffect(() => {
    if (conversation || deleted) void list.refresh();
  }, [conversation, deleted, list]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another conversation is another place
  useEffect(() => {
    setEditing(null);
    setPageFailure(null);
    setStopping(false);
  }, [conversationId]);

  const refused =
    (listState.error !== null && needsSignIn(toFailure(listState.error))) ||
    (error !== null && needsSignIn(toFailure(error))) ||
    (pageFailure !== null && needsSignIn(pageFailure));
  useEffect(() => {
    if (refused) onSignInNeeded();
  }, [refused, onSignInNeeded]);

  const openSidebar = useCallback(
    (open: boolean) => {
      if (narrow) setDrawer(open);
      else onSettings({ sidebar: open });
    },
    [narrow, onSettings],
  );
  const hideSidebar = useStable(() => {
    openSidebar(false);
    requestAnimationFrame(() => toggle.current?.focus());
  });
  const showSidebar = useStable(() => openSidebar(true));
  const closeDrawer = useCallback(() => setDrawer(false), []);
  const showHelp = useCallback(() => setHelp(true), []);
  const toComposer = () => {
    if (narrow && drawer) {
      // Behind the drawer nothing takes the focus.
      setDrawer(false);
      requestAnimationFrame(focusComposer);
    } else focusComposer();
  };
  const show = (id: string | null) => {
    go(id);
    setDrawer(false);
    requestAnimationFrame(focusComposer);
  };
  const newChat = useStable(() => show(null));
  useImperativeHandle(handle, () => ({
    go: show,
    prefill: (command) => {
      const { text, caret } = prefilled(draft, command);
      setDraft(text);
      setEditing(null);
      // When the field shows it, and no key that chose the command is still on its way.
      requestAnimationFrame(() => {
        focusComposer();
        composer.current?.setSelectionRange(caret, caret);
      });
    },
  }));
  useEffect(() => {
    if (narrow && drawer) search.current?.focus();
  }, [narrow, drawer]);

  const ask = async (text: string) => {
    setPageFailure(null);
    setDismissed(null);
    if (busy) {
      setPageFailure({ code: "turn_running", status: 409 });
      return;
    }
    const key = draftKey;
    setDrafts((old) => ({ ...old, [key]: "" }));
    feed.jump();
    const files = attached.current?.take() ?? [];
    const assets = files.flatMap((file) => file.asset ?? []);
    const options =
      assets.length === 0
        ? {}
        : { attachments: assets.map(({ id }) => id), blocks: assets.map(attachmentBlock) };
    if (await chat.send(text, options)) {
      attached.current?.sent(files);
      return;
    }
    // What was written is given back unless the reader already wrote something else.
    setDrafts((old) => ({ ...old, [key]: old[key] || text }));
    attached.current?.restore(key, files);
  };

  const stop = useCallback(() => {
    setStopping(true);
    void chat.stop();
  }, [chat.stop]);

  const actions: TurnActions = useMemo(
    () => ({
      regenerate: (id) => {
        feed.jump();
        void chat.regenerate(id);
      },
      edit: (id, text) => {
        feed.jump();
        void chat.edit(id, text);
      },
      selectBranch: (id) => void chat.selectBranch(id),
      startEdit: setEditing,
      feedback: (id, rating, comment) => client.feedback(id, rating, comment),
      loadTrajectory: (id) => client.trajectory(id),
      announce: (text) => announcer.say(text),
    }),
    [chat.regenerate, chat.edit, chat.selectBranch, feed.jump, client, announcer],
  );

  const pending = pendingBlock(messages);
  const waiting = useWaiting(chat.conversationId ?? null, pending !== null, chat.loading);
  const goToPending = () => {
    const block = feed.content.current?.querySelector<HTMLElement>(
      `[data-block-id="${CSS.escape(pending?.id ?? "")}"]`,
    );
    if (!block) return;
    block.scrollIntoView({ block: "center" });
    const field = block.querySelector<HTMLElement>(
      ":is(input, textarea, select, button):not(:disabled)",
    );
    (field ?? block.closest("article"))?.focus({ preventScroll: true });
  };

  const editLast = useStable(() => {
    const last = lastUserMessage(messages);
    if (last && !busy) setEditing(last.id);
  });
  const write = useStable(setDraft);
  const sendDraft = useStable(() => void ask(draft.trim()));
  const forget = useStable((id: string) => {
    if (id === conversationId) go(null, "replace");
  });
  const exports = conversationId !== null && messages.length > 0;
  const exportUrl = useCallback(
    (format: ExportFormat) => client.exportUrl(conversationId ?? "", format),
    [client, conversationId],
  );
  const exportFile = useStable((format: ExportFormat) => {
    if (token === null || conversationId === null) return;
    void downloadExport(client, conversationId, format, token, tag).catch(fail);
  });
  // One element for as long as nothing in it changes, so that text that streams does not draw it again.
  const { uploads } = config;
  const files = useMemo(
    () =>
      uploads?.enabled && (
        <Suspense fallback={<span className="page-attach-place" />}>
          <Attachments
            client={client}
            limits={uploads}
            draft={draftKey}
            field={composer}
            handle={attached}
            onReady={setFilesReady}
            announce={say}
          />
        </Suspense>
      ),
    [client, uploads, draftKey, say],
  );

  const walk = (step: 1 | -1) => {
    const turns = Array.from(feed.content.current?.querySelectorAll("article") ?? []);
    const at = turns.indexOf(document.activeElement?.closest("article") as HTMLElement);
    const next = at < 0 ? turns.at(step < 0 ? -1 : 0) : turns[at + step];
    next?.focus();
  };

  const run = (command: PageCommand): boolean => {
    switch (command) {
      case "search":
        openSidebar(true);
        requestAnimationFrame(() => {
          search.current?.focus();
          search.current?.select();
        });
        return true;
      case "new":
        newChat();
        return true;
      case "focus":
        toComposer();
        return true;
      case "help":
        setHelp(true);
        return true;
      case "previous":
        walk(-1);
        return true;
      case "next":
        walk(1);
        return true;
      case "stop":
        if (narrow && drawer) hideSidebar();
        else if (busy) stop();
        else return false;
        return true;
    }
  };
  const latestRun = useRef(run);
  latestRun.current = run;
  useEffect(() => {
    const keyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented) return;
      const command = pageCommand(event, takesText(document.activeElement));
      if (command === null || document.querySelector("dialog[open]")) return;
      // Escape closes what is open before it stops anything.
      if (command === "stop" && document.querySelector(":popover-open")) return;
      if (latestRun.current(command)) event.preventDefault();
    };
    document.addEventListener("keydown", keyDown);
    return () => document.removeEventListener("keydown", keyDown);
  }, []);

  const listedTitle = useTitle(client, listState.items, conversationId, t("nav.untitled"));
  const title = conversation?.title || listedTitle;
  useEffect(() => {
    document.title = conversationId === null ? config.title : `${title} – ${config.title}`;
  }, [title, conversationId, config.title]);

  const failure =
    pageFailure ??
    (deleted && conversationId !== null ? { code: "conversation_not_found" } : null) ??
    (error !== null && error !== dismissed ? toFailure(error) : null);
  const dismiss = () => {
    setPageFailure(null);
    setDismissed(error);
    focusComposer();
  };
  const statusText =
    connection === "offline"
      ? t("status.offline")
      : connection === "reconnecting"
        ? t("status.reconnecting")
        : stopping && busy
          ? t("status.stopping")
          : null;

  return (
    <div className="page" data-sidebar={sidebarOpen ? "open" : "closed"}>
      <button type="button" className="page-skip" onClick={toComposer}>
        {t("app.skip")}
      </button>
      {sidebarOpen && (
        <Sidebar
          list={list}
          current={conversationId}
          waiting={waiting}
          answered={busy || chat.loading ? null : conversationId}
          searchField={search}
          onNew={newChat}
          onHide={hideSidebar}
          onPicked={closeDrawer}
          onDeleted={forget}
        />
      )}
      {narrow && drawer && (
        <button
          type="button"
          className="page-scrim"
          tabIndex={-1}
          aria-hidden="true"
          onClick={hideSidebar}
        />
      )}
      <main className="page-main" inert={narrow && drawer}>
        <TopBar
          title={empty ? config.title : title}
          sidebarOpen={sidebarOpen}
          toggle={toggle}
          settings={settings}
          exportUrl={exports ? exportUrl : null}
          onExport={token === null || conversationId === null ? null : exportFile}
          canSignOut={token !== null}
          onShowSidebar={showSidebar}
          onNew={newChat}
          onSettings={onSettings}
          onHelp={showHelp}
          onSignOut={onSignOut}
        />
        <section
          className="page-scroller"
          ref={feed.scroller}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          tabIndex={0}
          aria-label={empty ? config.title : title}
        >
          <div
            className="page-feed"
            ref={feed.content}
            {...(empty ? {} : { role: "feed", "aria-label": t("feed.label"), "aria-busy": busy })}
          >
            {empty && (
              <EmptyState suggestions={config.suggestions} onAsk={(text) => void ask(text)} />
            )}
            {chat.loading && messages.length === 0 && (
              <p className="page-loading">{t("feed.loading")}</p>
            )}
            {messages.map((message, index) => (
              <Turn
                // Versions of a message share their place, so the focus survives a change of version.
                key={`${message.role}:${message.parentId ?? index}`}
                message={message}
                position={index + 1}
                count={messages.length}
                busy={busy}
                editing={editing === message.id}
                toolDetails={config.showToolDetails}
                actions={actions}
              />
            ))}
          </div>
        </section>
        <div className="page-dock">
          {feed.offersJump && !empty && (
            <button
              type="button"
              className="page-jump"
              onClick={() => {
                feed.jump();
                feed.scroller.current?.focus({ preventScroll: true });
              }}
            >
              <Icon name="down" />
              {t("feed.jump")}
            </button>
          )}
          {failure && (
            <ErrorNote failure={failure}>
              {error !== null && !pageFailure && (
                <button
                  type="button"
                  className="page-button"
                  onClick={() => {
                    dismiss();
                    void chat.reload();
                  }}
                >
                  {t("error.retry")}
                </button>
              )}
              <button type="button" className="page-button" onClick={dismiss}>
                {t("error.dismiss")}
              </button>
            </ErrorNote>
          )}
          {statusText && (
            <p className="page-status" role="status">
              {statusText}
            </p>
          )}
          {!statusText && pending && (
            <p className="page-status" role="status" data-waiting="true">
              {t("status.waiting")}{" "}
              <button type="button" className="page-link" onClick={goToPending}>
                {t("status.goToPending")}
              </button>
            </p>
          )}
          <Composer
            field={composer}
            text={draft}
            onText={write}
            running={busy}
            limit={config.limits.inputBytes}
            onSend={sendDraft}
            onStop={stop}
            onEditLast={editLast}
            waiting={!filesReady}
            attachments={files}
          />
          {(config.demo || config.model.kind === "scripted") && <DemoBadge />}
        </div>
      </main>
      {help && (
        <Suspense fallback={null}>
          <KeyboardHelp onClose={() => setHelp(false)} />
        </Suspense>
      )}
      <div ref={live} className="page-hidden" aria-live="polite" data-live="true" />
    </div>
  );
}

/** Tells screen readers what happens in the shown conversation. */
function useAnnouncements(
  messages: readonly Message[],
  conversationId: string | null,
  announcer: Announcer,
): void {
  const t = useText();
  const before = useRef<{ conversationId: string | null; messages: readonly Message[] }>({
    conversationId,
    messages: [],
  });
  useEffect(() => {
    const last = before.current;
    before.current = { conversationId, messages };
    // A conversation that just got its id is still the same one.
    const moved = last.conversationId !== null && last.conversationId !== conversationId;
    if (moved) announcer.clear();
    for (const text of announcements(moved ? [] : last.messages, messages, t)) announcer.say(text);
  }, [messages, conversationId, announcer, t]);
}

/** The conversations in which an answer was last seen waiting for the reader. */
function useWaiting(
  conversationId: string | null,
  waits: boolean,
  loading: boolean,
): ReadonlySet<string> {
  const [waiting, setWaiting] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (conversationId === null || loading) return;
    setWaiting((old) => {
      if (old.has(conversationId) === waits) return old;
      const next = new Set(old);
      if (waits) next.add(conversationId);
      else next.delete(conversationId);
      return next;
    });
  }, [conversationId, waits, loading]);
  return waiting;
}

/** The title of the shown conversation: from the list, or asked for when the list does not have it. */
function useTitle(
  client: InlayClient,
  items: readonly Conversation[],
  conversationId: string | null,
  untitled: string,
): string {
  const [known, setKnown] = useState<{ id: string; title: string } | null>(null);
  const item = items.find((candidate) => candidate.id === conversationId);
  // What left the list, by a search or because it was deleted, need not be asked for again.
  useEffect(() => {
    if (item) setKnown({ id: item.id, title: item.title });
  }, [item]);
  const missing = conversationId !== null && item === undefined && known?.id !== conversationId;
  useEffect(() => {
    if (!missing || conversationId === null) return;
    let current = true;
    client.getConversation(conversationId).then(
      (conversation) => {
        if (current) setKnown({ id: conversation.id, title: conversation.title });
      },
      // The messages of the conversation report the same error.
      () => undefined,
    );
    return () => {
      current = false;
    };
  }, [client, missing, conversationId]);
  if (item) return item.title || untitled;
  return (known?.id === conversationId && known?.title) || untitled;
}

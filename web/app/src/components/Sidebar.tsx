import type { Conversation } from "@inlay-ui/client";
import {
  type KeyboardEvent,
  memo,
  type RefObject,
  useEffect,
  useId,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import type { ConversationList } from "../conversations.ts";
import { type DateGroup, groupByDate } from "../dates.ts";
import { languageTag, useLang, useText } from "../i18n/index.ts";
import { formatRoute } from "../route.ts";
import { ConversationRow } from "./ConversationRow.tsx";
import { Dialog } from "./Dialog.tsx";
import { Icon } from "./Icon.tsx";

const searchDelay = 180;

/** The list of conversations with its search, and what can be done to one of them. */
export const Sidebar = memo(function Sidebar({
  list,
  current,
  waiting,
  answered,
  searchField,
  onNew,
  onHide,
  onPicked,
  onDeleted,
}: {
  list: ConversationList;
  current: string | null;
  /** Conversations with an answer that waits for the reader, as far as it was seen here. */
  waiting: ReadonlySet<string>;
  /** The conversation whose answer is complete, although the server may not be done with it. */
  answered: string | null;
  searchField: RefObject<HTMLInputElement | null>;
  onNew: () => void;
  onHide: () => void;
  onPicked: () => void;
  onDeleted: (id: string) => void;
}) {
  const t = useText();
  const tag = languageTag(useLang());
  const id = useId();
  const state = useSyncExternalStore(list.subscribe, list.getState);
  const [query, setQuery] = useState("");
  const [renaming, setRenaming] = useState<string | null>(null);
  const [deleting, setDeleting] = useState<Conversation | null>(null);
  const [failed, setFailed] = useState(false);
  const scroller = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const timer = setTimeout(() => void list.search(query.trim()), query === "" ? 0 : searchDelay);
    return () => clearTimeout(timer);
  }, [list, query]);

  const links = () =>
    Array.from(scroller.current?.querySelectorAll<HTMLElement>("a[data-conversation]") ?? []);

  const keyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape" && event.target === searchField.current && query !== "") {
      event.preventDefault();
      event.stopPropagation();
      setQuery("");
      return;
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const all = links();
    const at = all.indexOf(event.target as HTMLElement);
    const inSearch = event.target === searchField.current;
    if (at < 0 && !inSearch) return;
    event.preventDefault();
    if (event.key === "ArrowDown") all[inSearch ? 0 : Math.min(at + 1, all.length - 1)]?.focus();
    else if (at === 0) searchField.current?.focus();
    else if (at > 0) all[at - 1]?.focus();
  };

  const groupName = (group: DateGroup) =>
    group.kind === "named"
      ? t(group.key)
      : new Intl.DateTimeFormat(tag, { year: "numeric", month: "long" }).format(group.date);

  const groups = groupByDate(state.items, (item) => new Date(item.updatedAt), new Date());
  const focusRow = (conversationId: string) => {
    requestAnimationFrame(() =>
      links()
        .find((link) => link.dataset.conversation === conversationId)
        ?.focus(),
    );
  };

  const remove = async (conversation: Conversation) => {
    setDeleting(null);
    const all = links();
    const at = all.findIndex((link) => link.dataset.conversation === conversation.id);
    const neighbour = (all[at + 1] ?? all[at - 1])?.dataset.conversation;
    try {
      await list.remove(conversation.id);
      setFailed(false);
      onDeleted(conversation.id);
      if (neighbour) focusRow(neighbour);
      else searchField.current?.focus();
    } catch {
      setFailed(true);
    }
  };

  return (
    <nav className="page-sidebar" aria-label={t("nav.label")} onKeyDown={keyDown}>
      <div className="page-sidebar-head">
        <button type="button" className="page-new" onClick={onNew}>
          <Icon name="plus" />
          {t("nav.new")}
        </button>
        <button
          type="button"
          className="page-icon-button"
          aria-label={t("nav.close")}
          title={t("nav.close")}
          onClick={onHide}
        >
          <Icon name="panel" />
        </button>
      </div>
      <search className="page-search">
        <Icon name="search" />
        <input
          ref={searchField}
          type="search"
          aria-label={t("nav.search")}
          placeholder={t("nav.search")}
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
        {query !== "" && (
          <button
            type="button"
            className="page-icon-button"
            aria-label={t("nav.clearSearch")}
            title={t("nav.clearSearch")}
            onClick={() => {
              setQuery("");
              searchField.current?.focus();
            }}
          >
            <Icon name="close" />
          </button>
        )}
      </search>
      <div className="page-conversations" ref={scroller} aria-busy={state.loading}>
        {(state.error !== null || failed) && (
          <p className="page-list-note" role="alert">
            {t("nav.failed")}{" "}
            <button
              type="button"
              className="page-link"
              onClick={() => {
                setFailed(false);
                void list.refresh();
              }}
            >
              {t("nav.retry")}
            </button>
          </p>
        )}
        {!state.loading && state.error === null && state.items.length === 0 && (
          <p className="page-list-note" role="status">
            {state.query === "" ? t("nav.empty") : t("nav.noResults", { q: state.query })}
          </p>
        )}
        {groups.map(({ group, items }) => (
          <section key={group.id} aria-labelledby={`${id}-${group.id}`}>
            <h2 id={`${id}-${group.id}`}>{groupName(group)}</h2>
            <ul>
              {items.map((conversation) => (
                <ConversationRow
                  key={conversation.id}
                  conversation={conversation}
                  href={formatRoute({ conversationId: conversation.id })}
                  current={conversation.id === current}
                  waiting={waiting.has(conversation.id)}
                  answered={conversation.id === answered}
                  renaming={renaming === conversation.id}
                  onPicked={onPicked}
                  onRename={() => setRenaming(conversation.id)}
                  onDelete={() => setDeleting(conversation)}
                  onRenamed={(title, keepFocus) => {
                    setRenaming(null);
                    if (keepFocus) focusRow(conversation.id);
                    if (title === null || title === conversation.title) return;
                    list.rename(conversation.id, title).then(
                      () => setFailed(false),
                      () => setFailed(true),
                    );
                  }}
                />
              ))}
            </ul>
          </section>
        ))}
        {state.more && (
          <button
            type="button"
            className="page-link page-more"
            onClick={() => void list.loadMore()}
          >
            {t("nav.more")}
          </button>
        )}
      </div>
      {deleting && (
        <Dialog
          role="alertdialog"
          title={t("delete.title")}
          onClose={() => {
            const { id: kept } = deleting;
            setDeleting(null);
            focusRow(kept);
          }}
        >
          <p>{t("delete.body", { title: deleting.title || t("nav.untitled") })}</p>
          <div className="page-dialog-actions">
            <button
              type="button"
              className="page-button"
              data-initial-focus="true"
              onClick={() => {
                const { id: kept } = deleting;
                setDeleting(null);
                focusRow(kept);
              }}
            >
              {t("dialog.cancel")}
            </button>
            <button
              type="button"
              className="page-button"
              data-danger="true"
              onClick={() => void remove(deleting)}
            >
              {t("delete.confirm")}
            </button>
          </div>
        </Dialog>
      )}
    </nav>
  );
});

import type { Conversation } from "@inlay-ui/client";
import { memo, useEffect, useRef, useState } from "react";
import { useText } from "../i18n/index.ts";
import { isComposing } from "../keyboard.ts";
import { Menu } from "./Menu.tsx";

/** One conversation of the list: a link, its menu, and a field in its place while it is renamed. */
export const ConversationRow = memo(function ConversationRow({
  conversation,
  href,
  current,
  waiting,
  answered = false,
  renaming,
  onPicked,
  onRename,
  onRenamed,
  onDelete,
}: {
  conversation: Conversation;
  href: string;
  current: boolean;
  /** An answer in it waits for the reader. */
  waiting: boolean;
  /** Its answer is complete, although the server is not done with it. */
  answered?: boolean;
  renaming: boolean;
  onPicked: () => void;
  onRename: () => void;
  onRenamed: (title: string | null, keepFocus: boolean) => void;
  onDelete: () => void;
}) {
  const t = useText();
  const title = conversation.title || t("nav.untitled");
  if (renaming) {
    return (
      <li className="page-conversation" data-current={current || undefined}>
        <RenameField title={conversation.title} onDone={onRenamed} />
      </li>
    );
  }
  return (
    <li className="page-conversation" data-current={current || undefined}>
      <a
        href={href}
        data-conversation={conversation.id}
        aria-current={current ? "page" : undefined}
        title={title}
        onClick={onPicked}
      >
        {conversation.running && !answered ? (
          <span className="page-running" role="img" aria-label={t("nav.running")} />
        ) : (
          waiting && <span className="page-waits" role="img" aria-label={t("nav.waiting")} />
        )}
        <span className="page-conversation-title">{title}</span>
      </a>
      <Menu
        label={t("nav.options", { title })}
        icon="more"
        items={[
          { kind: "action", id: "rename", label: t("nav.rename"), run: onRename },
          { kind: "action", id: "delete", label: t("nav.delete"), danger: true, run: onDelete },
        ]}
      />
    </li>
  );
});

function RenameField({
  title,
  onDone,
}: {
  title: string;
  onDone: (title: string | null, keepFocus: boolean) => void;
}) {
  const t = useText();
  const [text, setText] = useState(title);
  const field = useRef<HTMLInputElement>(null);
  const finished = useRef(false);
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  const finish = (value: string | null, keepFocus: boolean) => {
    if (finished.current) return;
    finished.current = true;
    onDone(value === null || value.trim() === "" ? null : value.trim(), keepFocus);
  };
  return (
    <input
      ref={field}
      className="page-rename"
      aria-label={t("nav.renameLabel")}
      value={text}
      maxLength={200}
      onChange={(event) => setText(event.target.value)}
      onBlur={() => finish(text, false)}
      onKeyDown={(event) => {
        if (isComposing(event.nativeEvent)) return;
        if (event.key === "Enter") {
          event.preventDefault();
          finish(text, true);
        } else if (event.key === "Escape") {
          event.preventDefault();
          event.stopPropagation();
          finish(null, true);
        }
      }}
    />
  );
}

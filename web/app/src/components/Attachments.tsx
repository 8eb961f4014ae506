import type { InlayClient } from "@inlay-ui/client";
import {
  type RefObject,
  useCallback,
  useEffect,
  useId,
  useImperativeHandle,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { languageTag, type TextKey, useLang, useText } from "../i18n/index.ts";
import { takesText } from "../keyboard.ts";
import { type Upload, type UploadLimits, Uploads } from "../uploads.ts";
import { bytesText } from "./Composer.tsx";
import { Icon } from "./Icon.tsx";

/** What the page does with the files of the message that is written. */
export interface AttachmentsHandle {
  /** Takes the files for a message that is being sent. */
  take(): Upload[];
  /** Puts them back, where they were taken, when the message was not sent. */
  restore(draft: string, items: readonly Upload[]): void;
  /** Gives back what they hold once the message was sent. */
  sent(items: readonly Upload[]): void;
}

/** Whether something that is dragged or pasted is files. */
function hasFiles(data: DataTransfer | null): boolean {
  return data?.types.includes("Files") ?? false;
}

/**
 * The files of a message: chosen by a button, dropped anywhere on the page, or
 * pasted into the field. Each draft has its own.
 */
export default function Attachments({
  client,
  limits,
  draft,
  field,
  handle,
  onReady,
  announce,
}: {
  client: InlayClient;
  limits: UploadLimits;
  /** The name of the draft that is written. */
  draft: string;
  field: RefObject<HTMLTextAreaElement | null>;
  handle: RefObject<AttachmentsHandle | null>;
  /** Told whether every file is ready to be sent. */
  onReady: (ready: boolean) => void;
  announce: (text: string) => void;
}) {
  const t = useText();
  const tag = languageTag(useLang());
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const [drafts] = useState(() => new Map<string, Uploads>());
  const of = useCallback(
    (name: string) => {
      let found = drafts.get(name);
      if (!found) {
        found = new Uploads(client, limits);
        drafts.set(name, found);
      }
      return found;
    },
    [drafts, client, limits],
  );
  const uploads = of(draft);
  const { items, refused } = useSyncExternalStore(uploads.subscribe, uploads.getState);
  const [dragged, setDragged] = useState(false);

  useImperativeHandle(
    handle,
    () => ({
      take: () => uploads.take(),
      restore: (name, taken) => of(name).restore(taken),
      sent: (taken) => uploads.sent(taken),
    }),
    [uploads, of],
  );
  const ready = items.every((one) => one.status === "done");
  useEffect(() => {
    onReady(ready);
  }, [onReady, ready]);

  const add = useCallback(
    (files: Iterable<File>) => {
      uploads.add(files);
      field.current?.focus();
    },
    [uploads, field],
  );

  useEffect(() => {
    let depth = 0;
    const over = (event: DragEvent) => {
      if (!hasFiles(event.dataTransfer)) return;
      // Otherwise the browser would leave the page for the file.
      event.preventDefault();
      if (event.dataTransfer) event.dataTransfer.dropEffect = "copy";
    };
    const enter = (event: DragEvent) => {
      if (!hasFiles(event.dataTransfer)) return;
      depth++;
      setDragged(true);
    };
    const leave = (event: DragEvent) => {
      if (!hasFiles(event.dataTransfer)) return;
      depth = Math.max(0, depth - 1);
      if (depth === 0) setDragged(false);
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event.dataTransfer)) return;
      event.preventDefault();
      depth = 0;
      setDragged(false);
      // A dialog in front of the field has nothing to do with it.
      if (!document.querySelector("dialog[open]")) add(event.dataTransfer?.files ?? []);
    };
    const paste = (event: ClipboardEvent) => {
      const data = event.clipboardData;
      if (event.defaultPrevented || !data || data.files.length === 0) return;
      const elsewhere = takesText(document.activeElement) && event.target !== field.current;
      // Office programs put a picture of the text beside it: the text is meant.
      if (elsewhere || data.types.includes("text/plain")) return;
      event.preventDefault();
      add(data.files);
    };
    document.addEventListener("dragover", over);
    document.addEventListener("dragenter", enter);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop);
    document.addEventListener("paste", paste);
    return () => {
      document.removeEventListener("dragover", over);
      document.removeEventListener("dragenter", enter);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("drop", drop);
      document.removeEventListener("paste", paste);
    };
  }, [add, field]);

  // A screen reader hears of each file once for each thing that happens to it.
  const heard = useRef(new Map<number, string>());
  useEffect(() => {
    for (const one of items) {
      if (heard.current.get(one.key) === one.status) continue;
      heard.current.set(one.key, one.status);
      if (one.status === "done") announce(t("upload.ready", { name: one.name }));
      if (one.status === "failed") {
        announce(`${one.name}: ${t(failureKey(one.error))}`);
      }
    }
  }, [items, announce, t]);

  const remove = (at: number) => {
    const one = items[at];
    if (!one) return;
    uploads.remove(one.key);
    announce(t("upload.removed", { name: one.name }));
    // The pressed button goes away; the focus stays near.
    requestAnimationFrame(() => {
      const buttons = list.current?.querySelectorAll<HTMLElement>("[data-remove]");
      (buttons?.[Math.min(at, buttons.length - 1)] ?? field.current)?.focus();
    });
  };

  const percent = new Intl.NumberFormat(tag, { style: "percent" });
  return (
    <>
      {refused.length > 0 && (
        <div className="page-upload-refused" role="alert">
          {refused.map(({ name, why }, i) => (
            <p key={i}>
              {t(`upload.refused.${why}`, {
                name,
                most: limits.maxFiles,
                limit: bytesText(limits.maxBytes, tag),
              })}
            </p>
          ))}
        </div>
      )}
      {items.length > 0 && (
        <ul ref={list} className="page-uploads" aria-label={t("upload.list")}>
          {items.map((one, at) => (
            <li key={one.key} className="page-upload" data-status={one.status}>
              {one.picture ? (
                <img className="page-upload-picture" src={one.picture} alt="" />
              ) : (
                <Icon name="file" />
              )}
              <span className="page-upload-words">
                <span className="page-upload-name" title={one.name} dir="auto">
                  {one.name}
                </span>
                <span className="page-upload-note">
                  {one.status === "sending"
                    ? percent.format(one.share)
                    : one.status === "checking"
                      ? t("upload.checking")
                      : one.status === "failed"
                        ? t(failureKey(one.error))
                        : bytesText(one.size, tag)}
                </span>
                {one.status === "sending" && (
                  <progress
                    className="page-upload-bar"
                    max={1}
                    value={one.share}
                    aria-label={t("upload.sending", { name: one.name })}
                  />
                )}
              </span>
              {one.status === "failed" && one.again && (
                <button
                  type="button"
                  className="page-icon-button"
                  data-size="small"
                  aria-label={t("upload.retry", { name: one.name })}
                  title={t("upload.retry", { name: one.name })}
                  onClick={() => uploads.retry(one.key)}
                >
                  <Icon name="again" />
                </button>
              )}
              <button
                type="button"
                className="page-icon-button"
                data-size="small"
                data-remove=""
                aria-label={t(one.status === "sending" ? "upload.cancel" : "upload.remove", {
                  name: one.name,
                })}
                onClick={() => remove(at)}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <input
        ref={input}
        id={`${id}-files`}
        type="file"
        multiple={limits.maxFiles !== 1}
        accept={limits.accept.join(",") || undefined}
        hidden
        onChange={({ target }) => {
          add(Array.from(target.files ?? []));
          // The same file may be chosen again.
          target.value = "";
        }}
      />
      <button
        type="button"
        className="page-icon-button"
        aria-label={t("upload.attach")}
        title={t("upload.attach")}
        onClick={() => input.current?.click()}
      >
        <Icon name="attach" />
      </button>
      {dragged && (
        <div className="page-drop" aria-hidden="true">
          <p>{t("upload.drop")}</p>
        </div>
      )}
    </>
  );
}

const failures: Record<string, TextKey> = {
  asset_too_large: "upload.failed.tooLarge",
  request_too_large: "upload.failed.tooLarge",
  asset_type_refused: "upload.failed.type",
  asset_quota: "upload.failed.quota",
  asset_infected: "upload.failed.infected",
  network: "upload.failed.network",
};

/** The words for the code of an upload that failed. */
function failureKey(code: string | undefined): TextKey {
  return failures[code ?? ""] ?? "upload.failed.other";
}

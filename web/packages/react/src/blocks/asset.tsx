import type { AssetUrl, AssetUrlOptions } from "@inlay-ui/client";
import { useCallback, useEffect, useRef, useState } from "react";
import { useInlay, useT } from "../context.ts";
import type { Translate } from "../i18n/index.ts";

/** The code of anything that was thrown. */
export function codeOf(thrown: unknown): string {
  return typeof thrown === "object" && thrown !== null && "code" in thrown
    ? String(thrown.code)
    : "other";
}

/** Why a file cannot be had: a word of its own for what happens to files, else the error's. */
export function assetTrouble(thrown: unknown): { key: string; again: boolean } {
  const code = codeOf(thrown);
  const status =
    typeof thrown === "object" && thrown !== null && "status" in thrown ? thrown.status : 0;
  if (code === "asset_infected") return { key: "chat.block.file.infected", again: false };
  if (code === "asset_not_ready") return { key: "chat.block.file.checking", again: true };
  if (status === 404) return { key: "chat.block.file.gone", again: false };
  if (status === 401 || (status === 403 && code !== "asset_url_invalid")) {
    return { key: "chat.error.NOT_AUTHORIZED", again: false };
  }
  return { key: code === "network" ? "chat.error.network" : "chat.block.file.failed", again: true };
}

/** One line about a file that cannot be shown, with a way to try again where that may help. */
export function AssetNote({ error, onAgain }: { error: unknown; onAgain?: () => void }) {
  const t = useT();
  const { key, again } = assetTrouble(error);
  return (
    <div className="inlay-block-note" data-tone="error" role="status">
      <span>{t(key)}</span>
      {again && onAgain ? (
        <button type="button" className="inlay-button" onClick={onAgain}>
          {t("chat.block.tryAgain")}
        </button>
      ) : null}
    </div>
  );
}

/** The state of {@link useAssetUrl}. */
export interface AssetAddress {
  url: string | null;
  error: unknown;
  /** For the element that could not load the address: asks for a new one, once. */
  refused(): void;
  /** For the element that loaded it. */
  loaded(): void;
  /** Asks again after an error. */
  again(): void;
}

/** The signed address of a file for an element that loads it itself. */
export function useAssetUrl(id: string, variant?: AssetUrlOptions["variant"]): AssetAddress {
  const { client } = useInlay();
  const [state, setState] = useState<{ url: string | null; error: unknown }>({
    url: null,
    error: null,
  });
  const renewed = useRef(false);
  const asked = useRef(0);
  const ask = useCallback(
    (fresh: boolean) => {
      const turn = ++asked.current;
      const whole = () => client.assetUrl(id, { fresh });
      // Not every picture has a small one.
      const found = variant
        ? client.assetUrl(id, { variant, fresh }).catch((error: unknown) => {
            if (codeOf(error) === "network") throw error;
            return whole();
          })
        : whole();
      found.then(
        ({ url }: AssetUrl) => {
          if (turn === asked.current) setState({ url, error: null });
        },
        (error: unknown) => {
          if (turn === asked.current) setState({ url: null, error });
        },
      );
    },
    [client, id, variant],
  );
  useEffect(() => {
    renewed.current = false;
    setState({ url: null, error: null });
    ask(false);
    return () => {
      asked.current++;
    };
  }, [ask]);
  const refused = useCallback(() => {
    if (renewed.current) {
      setState({ url: null, error: { code: "asset_unreadable" } });
      return;
    }
    renewed.current = true;
    ask(true);
  }, [ask]);
  const loaded = useCallback(() => {
    renewed.current = false;
  }, []);
  const again = useCallback(() => {
    renewed.current = false;
    setState({ url: null, error: null });
    ask(true);
  }, [ask]);
  return { ...state, refused, loaded, again };
}

/** Saves a file under its own name, by an address made for this click. */
export function useDownload(id: string): {
  busy: boolean;
  error: unknown;
  download: () => void;
} {
  const { client } = useInlay();
  const [state, setState] = useState<{ busy: boolean; error: unknown }>({
    busy: false,
    error: null,
  });
  const download = useCallback(() => {
    setState({ busy: true, error: null });
    client.assetUrl(id, { disposition: "attachment", fresh: true }).then(
      ({ url }) => {
        setState({ busy: false, error: null });
        const link = document.createElement("a");
        link.href = url;
        link.rel = "noopener noreferrer";
        link.download = "";
        document.body.append(link);
        link.click();
        link.remove();
      },
      (error: unknown) => setState({ busy: false, error }),
    );
  }, [client, id]);
  return { ...state, download };
}

/** A size in words, in steps of 1024 as the server's texts have it. */
export function sizeText(bytes: number, lang: string): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;
  let n = bytes;
  let at = 0;
  while (n >= 1023.5 && at < units.length - 1) {
    n /= 1024;
    at++;
  }
  return new Intl.NumberFormat(lang, {
    style: "unit",
    unit: units[at],
    unitDisplay: at === 0 ? "long" : "short",
    maximumFractionDigits: at === 0 || n >= 100 ? 0 : 1,
  }).format(n);
}

/** The kind of a file in a word or two: its usual ending where the type has none. */
export function kindText(mime: string, name: string, t: Translate): string {
  const known = kinds[mime];
  if (known) return known;
  const ending = /\.([A-Za-z0-9]{1,5})$/.exec(name)?.[1];
  if (ending) return ending.toUpperCase();
  return t("chat.block.file.file");
}

const kinds: Record<string, string> = {
  "application/pdf": "PDF",
  "text/csv": "CSV",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "XLSX",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "DOCX",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PPTX",
  "application/json": "JSON",
  "application/zip": "ZIP",
  "image/png": "PNG",
  "image/jpeg": "JPEG",
  "image/webp": "WebP",
  "image/gif": "GIF",
  "image/svg+xml": "SVG",
  "text/markdown": "Markdown",
};

const shapes: Record<string, string> = {
  table: "M8 12h8v6H8zM8 15h8M12 12v6",
  image: "m8 18 3-4 2 2.5 1.5-2L17 18zM9.5 11.5h.01",
  pdf: "M7.5 17v-5h1a1.4 1.4 0 0 1 0 2.8h-1M11.3 12v5h.3a1.6 1.6 0 0 0 1.6-1.6v-1.8a1.6 1.6 0 0 0-1.6-1.6zM15.2 17v-5h1.8M15.2 14.5h1.4",
  text: "M8 12h8M8 15h8M8 18h5",
  archive: "M11 4h2M11 7h2M11 10h2M10.5 13h3v4h-3z",
  none: "",
};

/** Which picture stands for a type. */
export function iconOf(mime: string): string {
  if (mime.startsWith("image/")) return "image";
  if (mime === "application/pdf") return "pdf";
  if (/csv|spreadsheet|excel|tab-separated|parquet/.test(mime)) return "table";
  if (/zip|x-tar|gzip|compressed|7z/.test(mime)) return "archive";
  if (mime.startsWith("text/") || /json|xml|yaml|wordprocessing/.test(mime)) return "text";
  return "none";
}

/** A sheet of paper with a mark for its kind. It never is the only word for it. */
export function FileIcon({ mime }: { mime: string }) {
  return (
    <svg className="inlay-file-icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d="M6 3h8l5 5v12a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM14 3v5h5" />
      <path d={shapes[iconOf(mime)] ?? ""} />
    </svg>
  );
}

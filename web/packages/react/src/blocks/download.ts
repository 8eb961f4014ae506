/** Turns a title into a file name that every system takes. */
export function fileName(title: string | undefined, extension: string): string {
  const base = (title ?? "")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
    .replace(/[\u0000-\u001f\u007f\u202a-\u202e\u2066-\u2069<>:"/\\|?*]+/g, " ")
    .replace(/\s+/g, " ")
    .replace(/^[. ]+|[. ]+$/g, "");
  return `${Array.from(base).slice(0, 80).join("").trim() || "data"}.${extension}`;
}

/** Offers data to the reader as a file. */
export function downloadFile(name: string, content: Blob | string, type = "text/plain"): void {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.rel = "noopener";
  document.body.append(link);
  link.click();
  link.remove();
  // Browsers start the download in a later task.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Puts text on the clipboard; false when the browser refuses. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Plain http pages have no clipboard object; the old command still works there.
    const area = document.createElement("textarea");
    area.value = text;
    area.readOnly = true;
    area.className = "inlay-visually-hidden";
    document.body.append(area);
    const back = document.activeElement;
    area.select();
    let ok = false;
    try {
      ok = document.execCommand("copy");
    } catch {
      ok = false;
    }
    area.remove();
    if (back instanceof HTMLElement) {
      back.focus();
    }
    return ok;
  }
}

/** The bytes of a data URL; null for any other address. */
export function dataUrlBlob(url: string): Blob | null {
  const m = /^data:([^;,]+)(?:;charset=[^;,]+)?(;base64)?,(.*)$/s.exec(url);
  if (!m) {
    return null;
  }
  const [, type = "", base64, body = ""] = m;
  if (!base64) {
    return new Blob([decodeURIComponent(body)], { type });
  }
  const text = atob(body);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    bytes[i] = text.charCodeAt(i);
  }
  return new Blob([bytes], { type });
}

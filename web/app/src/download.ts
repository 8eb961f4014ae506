import { type ExportFormat, type InlayClient, InlayError } from "@inlay-ui/client";

/**
 * Downloads an export with a bearer token. Without a token a link to the
 * export is enough; a link cannot carry one.
 */
export async function downloadExport(
  client: InlayClient,
  conversationId: string,
  format: ExportFormat,
  token: string,
  lang: string,
): Promise<void> {
  const url = client.exportUrl(conversationId, format);
  const response = await fetch(url, {
    headers: { Authorization: `Bearer ${token}`, "Accept-Language": lang },
  });
  if (!response.ok) {
    throw new InlayError(`HTTP ${response.status}`, {
      code: `http_${response.status}`,
      status: response.status,
    });
  }
  const name = fileName(response.headers.get("Content-Disposition"));
  const object = URL.createObjectURL(await response.blob());
  save(object, name ?? `${conversationId}.${format}`);
  setTimeout(() => URL.revokeObjectURL(object), 60_000);
}

/** The file name of a Content-Disposition header, the extended form first. */
export function fileName(disposition: string | null): string | null {
  if (disposition === null) return null;
  const extended = /filename\*\s*=\s*utf-8''([^;]+)/i.exec(disposition)?.[1];
  if (extended) {
    try {
      return decodeURIComponent(extended.trim());
    } catch {
      return null;
    }
  }
  return /filename\s*=\s*"?([^";]+)"?/i.exec(disposition)?.[1]?.trim() ?? null;
}

function save(url: string, name: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

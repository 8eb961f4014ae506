import type { Asset, AssetPreview } from "@inlay-ui/client";
import { type Case, madeAt } from "./cases.ts";
import picture from "./samples/hills.png?url";
import notes from "./samples/notes.txt?url";
import report from "./samples/report.pdf?url";
import workbook from "./samples/sales.xlsx?url";

/** How many rows a sheet has that says nothing of it. */
const sheetRows = 120;

/** The files that the cases speak of, with a sample for the bytes of each. */
export class SampleAssets {
  readonly #known = new Map<string, Asset>();
  #added = 0;

  constructor(cases: readonly Case[]) {
    for (const { message } of cases)
      for (const { payload } of message.blocks) this.#collect(payload);
  }

  /** Remembers every file that is named anywhere in a payload. */
  #collect(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    if ("assetId" in value && typeof value.assetId === "string") {
      const given = value as Partial<Asset>;
      this.#known.set(value.assetId, {
        id: value.assetId,
        name: given.name ?? "picture.png",
        mime: given.mime ?? "image/png",
        size: given.size ?? 2068,
        status: "ready",
        createdAt: madeAt,
        ...(given.preview ? { preview: given.preview } : {}),
      });
    }
    for (const member of Object.values(value)) this.#collect(member);
  }

  get(id: string): Asset | undefined {
    return this.#known.get(id);
  }

  /** Takes a file as an upload would. */
  add(file: File): Asset {
    const asset: Asset = {
      id: `a_upload_${++this.#added}`,
      name: file.name,
      mime: file.type || "application/octet-stream",
      size: file.size,
      status: "ready",
      createdAt: madeAt,
    };
    this.#known.set(asset.id, asset);
    return asset;
  }

  remove(id: string): boolean {
    return this.#known.delete(id);
  }

  /** Where the bytes of a sample are that stands for a file. */
  url({ mime }: Asset): string {
    const path = mime.startsWith("image/")
      ? picture
      : mime === "application/pdf"
        ? report
        : /sheet|excel|csv/.test(mime)
          ? workbook
          : notes;
    return new URL(path, document.baseURI).href;
  }

  /** A part of a file's preview: rows on and on, the given ones first. */
  preview(asset: Asset, query: URLSearchParams): AssetPreview {
    const given = asset.preview;
    if (given?.kind !== "table") return given ?? { kind: "none" };
    const [head = ["Region", "Quarter", "Amount"], ...body] = given.rows;
    const total = given.total ?? sheetRows;
    const offset = Math.max(0, Number(query.get("offset") ?? 0) || 0);
    const limit = Math.min(200, Math.max(1, Number(query.get("limit") ?? 50) || 50));
    const row = (n: number) =>
      n === 0 ? head : (body[(n - 1) % Math.max(1, body.length)] ?? head.map(() => null));
    const count = Math.max(0, Math.min(limit, total - offset));
    return {
      kind: "table",
      ...(given.sheets ? { sheets: given.sheets } : {}),
      ...(query.get("sheet") || given.sheet
        ? { sheet: query.get("sheet") ?? given.sheet ?? "" }
        : {}),
      rows: Array.from({ length: count }, (_, i) => row(offset + i)),
      offset,
      total,
      more: offset + count < total,
    };
  }
}

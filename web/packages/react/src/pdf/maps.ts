// How old Chinese, Japanese and Korean documents number their characters. Each
// table is a file of its own that is fetched when a document names it.
const tables: Record<string, () => URL> = {
  "Adobe-GB1-UCS2": () => new URL("pdfjs-dist/cmaps/Adobe-GB1-UCS2.bcmap", import.meta.url),
  "Adobe-CNS1-UCS2": () => new URL("pdfjs-dist/cmaps/Adobe-CNS1-UCS2.bcmap", import.meta.url),
  "Adobe-Japan1-UCS2": () => new URL("pdfjs-dist/cmaps/Adobe-Japan1-UCS2.bcmap", import.meta.url),
  "Adobe-Korea1-UCS2": () => new URL("pdfjs-dist/cmaps/Adobe-Korea1-UCS2.bcmap", import.meta.url),
  "GB-EUC-H": () => new URL("pdfjs-dist/cmaps/GB-EUC-H.bcmap", import.meta.url),
  "GB-EUC-V": () => new URL("pdfjs-dist/cmaps/GB-EUC-V.bcmap", import.meta.url),
  "GBpc-EUC-H": () => new URL("pdfjs-dist/cmaps/GBpc-EUC-H.bcmap", import.meta.url),
  "GBpc-EUC-V": () => new URL("pdfjs-dist/cmaps/GBpc-EUC-V.bcmap", import.meta.url),
  "GBK-EUC-H": () => new URL("pdfjs-dist/cmaps/GBK-EUC-H.bcmap", import.meta.url),
  "GBK-EUC-V": () => new URL("pdfjs-dist/cmaps/GBK-EUC-V.bcmap", import.meta.url),
  "GBKp-EUC-H": () => new URL("pdfjs-dist/cmaps/GBKp-EUC-H.bcmap", import.meta.url),
  "GBKp-EUC-V": () => new URL("pdfjs-dist/cmaps/GBKp-EUC-V.bcmap", import.meta.url),
  "GBK2K-H": () => new URL("pdfjs-dist/cmaps/GBK2K-H.bcmap", import.meta.url),
  "GBK2K-V": () => new URL("pdfjs-dist/cmaps/GBK2K-V.bcmap", import.meta.url),
  "UniGB-UCS2-H": () => new URL("pdfjs-dist/cmaps/UniGB-UCS2-H.bcmap", import.meta.url),
  "UniGB-UCS2-V": () => new URL("pdfjs-dist/cmaps/UniGB-UCS2-V.bcmap", import.meta.url),
  "UniGB-UTF16-H": () => new URL("pdfjs-dist/cmaps/UniGB-UTF16-H.bcmap", import.meta.url),
  "UniGB-UTF16-V": () => new URL("pdfjs-dist/cmaps/UniGB-UTF16-V.bcmap", import.meta.url),
  "B5pc-H": () => new URL("pdfjs-dist/cmaps/B5pc-H.bcmap", import.meta.url),
  "B5pc-V": () => new URL("pdfjs-dist/cmaps/B5pc-V.bcmap", import.meta.url),
  "ETen-B5-H": () => new URL("pdfjs-dist/cmaps/ETen-B5-H.bcmap", import.meta.url),
  "ETen-B5-V": () => new URL("pdfjs-dist/cmaps/ETen-B5-V.bcmap", import.meta.url),
  "HKscs-B5-H": () => new URL("pdfjs-dist/cmaps/HKscs-B5-H.bcmap", import.meta.url),
  "HKscs-B5-V": () => new URL("pdfjs-dist/cmaps/HKscs-B5-V.bcmap", import.meta.url),
  "UniCNS-UCS2-H": () => new URL("pdfjs-dist/cmaps/UniCNS-UCS2-H.bcmap", import.meta.url),
  "UniCNS-UCS2-V": () => new URL("pdfjs-dist/cmaps/UniCNS-UCS2-V.bcmap", import.meta.url),
  "UniCNS-UTF16-H": () => new URL("pdfjs-dist/cmaps/UniCNS-UTF16-H.bcmap", import.meta.url),
  "UniCNS-UTF16-V": () => new URL("pdfjs-dist/cmaps/UniCNS-UTF16-V.bcmap", import.meta.url),
  "90ms-RKSJ-H": () => new URL("pdfjs-dist/cmaps/90ms-RKSJ-H.bcmap", import.meta.url),
  "90ms-RKSJ-V": () => new URL("pdfjs-dist/cmaps/90ms-RKSJ-V.bcmap", import.meta.url),
  "EUC-H": () => new URL("pdfjs-dist/cmaps/EUC-H.bcmap", import.meta.url),
  "EUC-V": () => new URL("pdfjs-dist/cmaps/EUC-V.bcmap", import.meta.url),
  H: () => new URL("pdfjs-dist/cmaps/H.bcmap", import.meta.url),
  V: () => new URL("pdfjs-dist/cmaps/V.bcmap", import.meta.url),
  "UniJIS-UCS2-H": () => new URL("pdfjs-dist/cmaps/UniJIS-UCS2-H.bcmap", import.meta.url),
  "UniJIS-UCS2-V": () => new URL("pdfjs-dist/cmaps/UniJIS-UCS2-V.bcmap", import.meta.url),
  "UniJIS-UTF16-H": () => new URL("pdfjs-dist/cmaps/UniJIS-UTF16-H.bcmap", import.meta.url),
  "UniJIS-UTF16-V": () => new URL("pdfjs-dist/cmaps/UniJIS-UTF16-V.bcmap", import.meta.url),
  "KSCms-UHC-H": () => new URL("pdfjs-dist/cmaps/KSCms-UHC-H.bcmap", import.meta.url),
  "KSCms-UHC-V": () => new URL("pdfjs-dist/cmaps/KSCms-UHC-V.bcmap", import.meta.url),
  "UniKS-UCS2-H": () => new URL("pdfjs-dist/cmaps/UniKS-UCS2-H.bcmap", import.meta.url),
  "UniKS-UCS2-V": () => new URL("pdfjs-dist/cmaps/UniKS-UCS2-V.bcmap", import.meta.url),
  "UniKS-UTF16-H": () => new URL("pdfjs-dist/cmaps/UniKS-UTF16-H.bcmap", import.meta.url),
  "UniKS-UTF16-V": () => new URL("pdfjs-dist/cmaps/UniKS-UTF16-V.bcmap", import.meta.url),
};

/** The names of the tables that there are. */
export const mapNames: readonly string[] = Object.keys(tables);

/** Fetches the tables for PDF.js. */
export class MapReader {
  async fetch({ name }: { name: string }): Promise<{ cMapData: Uint8Array; isCompressed: true }> {
    const table = tables[name];
    if (!table) throw new Error(`no character map ${name}`);
    const response = await fetch(table());
    if (!response.ok) throw new Error(`the character map ${name} is not there`);
    return { cMapData: new Uint8Array(await response.arrayBuffer()), isCompressed: true };
  }
}

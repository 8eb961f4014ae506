import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin, searchForWorkspaceRoot } from "vite";

/** KaTeX names each font in three formats; every browser this page supports reads woff2. */
function woff2Only(): Plugin {
  return {
    name: "inlay-woff2-only",
    enforce: "pre",
    transform(code, id) {
      if (!/katex[^/]*\.css/.test(id)) return null;
      return code.replace(/,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\(["'][a-z]+["']\)/g, "");
    },
  };
}

/** Writes the page a second time, as the gallery: the same files under a document that says so. */
function galleryPage(): Plugin {
  const mark = (html: string) => html.replace("<html ", '<html data-page="gallery" ');
  return {
    name: "inlay-gallery-page",
    enforce: "post",
    transformIndexHtml: (html, { originalUrl }) =>
      originalUrl?.startsWith("/gallery") ? mark(html) : html,
    generateBundle(_, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("index.html is not among the assets");
      const source = mark(String(page.source));
      this.emitFile({ type: "asset", fileName: "gallery.html", source });
    },
  };
}

const server = process.env.INLAY_SERVER ?? "http://127.0.0.1:8080";

export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  plugins: [woff2Only(), react(), galleryPage()],
  resolve: { conditions: ["inlay-source", "module", "browser", "development|production"] },
  build: {
    outDir: process.env.INLAY_DIST ?? "../dist",
    emptyOutDir: true,
    assetsDir: "assets",
    // Inlined assets would need data: in the page's content security policy.
    assetsInlineLimit: 0,
    sourcemap: false,
    reportCompressedSize: false,
    // Charts are one chunk of this size, which comes with the first chart; what
    // loads before it is measured by scripts/size.mjs.
    chunkSizeWarningLimit: 800,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  server: {
    // The gallery shows the vectors that the server is tested with.
    fs: {
      allow: [searchForWorkspaceRoot(import.meta.dirname), `${import.meta.dirname}/../../testdata`],
    },
    proxy: Object.fromEntries(["/v1", "/healthz", "/openapi.json"].map((path) => [path, server])),
  },
});

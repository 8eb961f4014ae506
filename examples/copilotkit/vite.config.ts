import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const server = process.env.INLAY_SERVER ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  resolve: {
    // The packages are linked: their sources are built, with the libraries of this page.
    conditions: ["inlay-source", "module", "browser", "development|production"],
    dedupe: ["react", "react-dom", "@ag-ui/client"],
  },
  server: { proxy: { "/v1": server }, fs: { allow: ["../.."] } },
  preview: { proxy: { "/v1": server } },
  build: { chunkSizeWarningLimit: 4096 },
});

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const conditions = ["inlay-source", "module", "browser", "development"];
const tests = (dir: string) => [`${dir}/{src,test}/**/*.test.{ts,tsx}`];

export default defineConfig({
  plugins: [react()],
  resolve: { conditions },
  ssr: { resolve: { conditions: ["inlay-source", "node", "development"] } },
  test: {
    projects: [
      {
        extends: true,
        test: { name: "client", environment: "node", include: tests("packages/client") },
      },
      {
        extends: true,
        test: { name: "react", environment: "jsdom", include: tests("packages/react") },
      },
      { extends: true, test: { name: "app", environment: "jsdom", include: tests("app") } },
    ],
  },
});

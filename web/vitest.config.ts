import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const conditions = ["inlay-source", "module", "browser", "development"];
const tests = (dir: string) => [`${dir}/{src,test}/**/*.test.{ts,tsx}`];

export default defineConfig({
  plugins: [react()],
  resolve: { conditions },
  ssr: { resolve: { conditions: ["inlay-source", "node", "development"] } },
  test: {
    // A busy machine is slow, not wrong.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The default leaves one core to a person at the machine.
    maxWorkers: "100%",
    projects: [
      {
        extends: true,
        test: { name: "client", environment: "node", include: tests("packages/client") },
      },
      {
        extends: true,
        test: {
          name: "react",
          environment: "jsdom",
          include: tests("packages/react"),
          setupFiles: ["./vitest.setup.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "wires",
          environment: "jsdom",
          include: [...tests("packages/ag-ui"), ...tests("packages/ai-sdk")],
          setupFiles: ["./vitest.setup.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "app",
          environment: "jsdom",
          include: tests("app"),
          setupFiles: ["./vitest.setup.ts"],
        },
      },
    ],
  },
});

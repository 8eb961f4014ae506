// Builds a server and starts it as it is, with nothing configured: what a client
// team would talk to.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));

/**
 * Starts a server in a directory of its own; `stop` ends it. What is given of the
 * environment configures it.
 */
export async function start(env = {}) {
  const dir = mkdtempSync(join(tmpdir(), "inlay-conformance-"));
  const binary = join(dir, "inlay");
  execFileSync("go", ["build", "-o", binary, "./cmd/inlay"], { cwd: root, stdio: "inherit" });
  const server = spawn(binary, ["--no-open"], {
    cwd: dir,
    env: { ...process.env, INLAY_ADDR: "127.0.0.1:0", ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let base;
  for await (const line of createInterface({ input: server.stdout })) {
    base = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
    if (base) break;
  }
  if (!base) throw new Error("the server does not listen");
  server.stdout.resume();
  return {
    base,
    async stop() {
      if (server.exitCode === null) {
        server.kill("SIGTERM");
        await once(server, "exit");
      }
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The binary under test; `INLAY_BIN` names another one. */
export const binary =
  process.env.INLAY_BIN ?? fileURLToPath(new URL("../../bin/inlay", import.meta.url));

/** @type {Set<import("node:child_process").ChildProcess>} */
const running = new Set();
// A test that fails half-way leaves nothing behind, and nothing waits for it.
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/**
 * Starts the binary and waits until it listens.
 * @param {string[]} args
 * @param {Record<string, string>} env
 * @returns {Promise<{child: import("node:child_process").ChildProcess, url: string, log: () => string}>}
 */
async function launch(args, env = {}) {
  if (!existsSync(binary)) throw new Error(`${binary} is missing: run "make e2e"`);
  // No INLAY_* variable of the caller's shell reaches the server under test.
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith("INLAY_")),
  );
  const child = spawn(binary, args, {
    env: { ...clean, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  let log = "";
  child.stderr.on("data", (chunk) => {
    log += chunk;
  });
  const url = await new Promise((resolve, reject) => {
    let said = "";
    const late = setTimeout(() => reject(new Error(`not listening after 30 s\n${log}`)), 30_000);
    child.stdout.on("data", (chunk) => {
      said += chunk;
      const found = /inlay: listening on (\S+)/.exec(said);
      if (!found) return;
      clearTimeout(late);
      resolve(found[1]);
    });
    child.once("exit", (code) => {
      clearTimeout(late);
      reject(new Error(`exited with ${code} before it listened\n${log}`));
    });
    child.once("error", reject);
  });
  child.unref();
  for (const pipe of [child.stdout, child.stderr]) {
    /** @type {import("node:net").Socket} */ (/** @type {unknown} */ (pipe)).unref();
  }
  return { child, url, log: () => log };
}

/**
 * @param {import("node:child_process").ChildProcess | undefined} child
 * @param {NodeJS.Signals} signal
 */
function end(child, signal) {
  return new Promise((resolve) => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return resolve(undefined);
    child.ref();
    child.once("exit", () => {
      clearTimeout(late);
      resolve(undefined);
    });
    // What does not end when asked must not outlive the tests.
    const late = setTimeout(() => child.kill("SIGKILL"), 5_000);
    child.kill(signal);
  });
}

/** A running server with a data directory of its own. */
export class Server {
  /** @param {string} data @param {Record<string, string>} env @param {string[]} args */
  constructor(data, env, args) {
    this.data = data;
    this.env = env;
    this.args = args;
    this.url = "";
    /** @type {import("node:child_process").ChildProcess | undefined} */
    this.child = undefined;
    this.log = () => "";
  }

  /** @param {string} [addr] */
  async start(addr = "127.0.0.1:0") {
    const args = ["serve", "--data", this.data, "--addr", addr, "--no-open", ...this.args];
    const { child, url, log } = await launch(args, this.env);
    this.child = child;
    this.url = url;
    this.log = log;
    return this;
  }

  /** Kills the process as a crash would. */
  async crash() {
    await end(this.child, "SIGKILL");
  }

  /** Starts again on the same data and the same address. */
  async again() {
    await this.start(new URL(this.url).host);
  }

  /** Ends the process and removes its data. */
  async stop() {
    await end(this.child, "SIGTERM");
    rmSync(this.data, { recursive: true, force: true });
  }

  /**
   * Asks the API.
   * @param {string} path
   * @param {RequestInit} [init]
   */
  async api(path, init) {
    const response = await fetch(`${this.url}${path}`, init);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? null : response.json();
  }

  /**
   * Asks a question without a page and waits for the end of the answer.
   * @param {string} text
   * @param {{conversationId?: string, lang?: string}} [options]
   */
  async ask(text, { conversationId, lang = "en" } = {}) {
    const response = await fetch(`${this.url}/v1/chat`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Accept-Language": lang },
      body: JSON.stringify({ conversationId, input: { text } }),
    });
    const events = await response.text();
    if (!response.ok) throw new Error(`ask: ${response.status} ${events}`);
    return {
      conversationId: response.headers.get("X-Conversation-Id") ?? "",
      messageId: response.headers.get("X-Message-Id") ?? "",
      events,
    };
  }

  /**
   * The messages of a conversation.
   * @param {string} conversationId
   * @returns {Promise<any[]>}
   */
  async messages(conversationId) {
    return (await this.api(`/v1/conversations/${conversationId}/messages`)).items;
  }
}

/**
 * Starts `inlay serve` on a free port.
 * @param {Record<string, string>} [env]
 * @param {string[]} [args]
 */
export function startServer(env = {}, args = []) {
  return new Server(mkdtempSync(join(tmpdir(), "inlay-e2e-")), env, args).start();
}

/**
 * Starts `inlay demo-model` on a free port.
 * @param {string[]} [args]
 */
export async function startDemoModel(args = ["--fast"]) {
  const { child, url } = await launch(["demo-model", "--addr", "127.0.0.1:0", ...args]);
  return {
    url,
    /** The environment of a server that this model answers. */
    env: { INLAY_MODEL_BASE_URL: `${url}/v1`, INLAY_MODEL_NAME: "demo-scripted-1" },
    stop: () => end(child, "SIGTERM"),
  };
}

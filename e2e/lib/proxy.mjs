import { createServer, request } from "node:http";

/**
 * What to do with a response: go on, reset the connection, or end it as if it
 * were complete.
 * @typedef {"go" | "reset" | "end"} Verdict
 */

/** A proxy in front of a server that cuts streams where a test wants it. */
export class Proxy {
  /** @param {string} target */
  constructor(target) {
    this.target = new URL(target);
    /**
     * Asked before each event of a stream; `sent` ends with that event.
     * @type {(path: string, sent: string) => Verdict | Promise<Verdict>}
     */
    this.rule = () => "go";
    /** Refuses all requests. */
    this.down = false;
    /** How many bytes go out at once; 0 passes pieces on as they come. */
    this.slice = 0;
    /** How many responses were cut. */
    this.cuts = 0;
    /** Paths of all requests. @type {string[]} */
    this.requests = [];
    this.url = "";
    /** @type {Set<import("node:net").Socket>} */
    this.sockets = new Set();
    this.server = createServer((req, res) => this.#pass(req, res));
    this.server.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("close", () => this.sockets.delete(socket));
    });
  }

  async start() {
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", () => resolve(undefined)));
    this.server.unref();
    const { port } = /** @type {import("node:net").AddressInfo} */ (this.server.address());
    this.url = `http://127.0.0.1:${port}`;
    return this;
  }

  /**
   * @param {import("node:http").IncomingMessage} req
   * @param {import("node:http").ServerResponse} res
   */
  #pass(req, res) {
    const path = req.url ?? "/";
    this.requests.push(`${req.method} ${path}`);
    if (this.down) {
      req.socket.resetAndDestroy();
      return;
    }
    const { hostname, port } = this.target;
    const up = request({ hostname, port, path, method: req.method, headers: req.headers });
    up.on("error", () => res.socket?.resetAndDestroy());
    res.on("close", () => up.destroy());
    up.on("response", async (from) => {
      res.writeHead(from.statusCode ?? 502, from.headers);
      res.flushHeaders();
      const stream = from.headers["content-type"]?.startsWith("text/event-stream") ?? false;
      let sent = "";
      try {
        for await (const chunk of from) {
          if (!stream) {
            res.write(chunk);
            continue;
          }
          for (const part of chunk.toString("latin1").split(/(?<=\n\n)/)) {
            sent += part;
            const verdict = await this.rule(path, sent);
            if (verdict !== "go") {
              this.cuts++;
              if (verdict === "reset") res.socket?.resetAndDestroy();
              else res.end();
              up.destroy();
              return;
            }
            await this.#write(res, Buffer.from(part, "latin1"));
          }
        }
        res.end();
      } catch {
        res.socket?.resetAndDestroy();
      }
    });
    req.pipe(up);
  }

  /**
   * @param {import("node:http").ServerResponse} res
   * @param {Buffer} bytes
   */
  async #write(res, bytes) {
    if (this.slice === 0) {
      res.write(bytes);
      return;
    }
    for (let i = 0; i < bytes.length; i += this.slice) {
      res.write(bytes.subarray(i, i + this.slice));
      // A turn of the loop between pieces keeps them apart on the wire.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Resets every connection that is open. */
  reset() {
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  async stop() {
    this.reset();
    await new Promise((resolve) => this.server.close(() => resolve(undefined)));
  }
}

/**
 * Holds the streams of answers back before the first event of a kind, so that
 * what is seen until then can be looked at for as long as it takes.
 * @param {Proxy} proxy
 * @param {string} event
 * @returns {() => void} lets them go on
 */
export function holdAt(proxy, event) {
  let release = () => {};
  const released = new Promise((resolve) => {
    release = () => resolve(undefined);
  });
  proxy.rule = async (path, sent) => {
    if (path.startsWith("/v1/chat") && sent.includes(`event: ${event}\n`)) await released;
    return "go";
  };
  return () => release();
}

/** @param {string} target */
export function startProxy(target) {
  return new Proxy(target).start();
}

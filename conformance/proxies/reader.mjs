// What stands between a server and its readers: proxies, and a reader that notes
// what of a stream came when.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as breath, setTimeout as sleep } from "node:timers/promises";

const comment = ": ping\n\n";

/**
 * A response as it comes, to its end or until its text says enough: the text, when
 * which bytes of it came, and whether the connection broke.
 */
export async function read(response, { until = () => false } = {}) {
  const out = { status: response.status, headers: response.headers, chunks: [], text: "", broken: false };
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = response.body?.getReader();
  try {
    while (reader && !until(out.text)) {
      const { done, value } = await reader.read();
      if (done) break;
      const text = decoder.decode(value, { stream: true });
      out.text += text;
      out.chunks.push({ at: performance.now(), bytes: value.length, text });
    }
    await reader?.cancel();
  } catch {
    out.broken = true;
  }
  out.pings = out.text.split(comment).length - 1;
  /** The stream without the comments, which come as time goes by. */
  out.frames = out.text.replaceAll(comment, "");
  return out;
}

/** The longest time in which nothing but comments came, in milliseconds. */
export function silence(stream) {
  const times = stream.chunks.filter((c) => c.text.replaceAll(comment, "") !== "").map((c) => c.at);
  return Math.max(...times.slice(1).map((at, i) => at - times[i]));
}

/** When the end of what a pattern finds had arrived. */
export function arrived(stream, pattern) {
  const found = pattern.exec(stream.text);
  if (!found) throw new Error(`${pattern} is not in the stream`);
  let left = Buffer.byteLength(stream.text.slice(0, found.index + found[0].length));
  for (const chunk of stream.chunks) if ((left -= chunk.bytes) <= 0) return chunk.at;
  throw new Error("the stream is longer than what has arrived");
}

/** The number of the last whole frame of a stream. */
export function cursor(frames) {
  return [...frames.slice(0, frames.lastIndexOf("\n\n") + 2).matchAll(/^id: (\d+)$/gm)].at(-1)?.[1];
}

/** A stream up to the end of the frame with a number. */
export function upTo(frames, id) {
  const mark = `id: ${id}\n`;
  const at = frames.startsWith(mark) ? 0 : frames.indexOf(`\n${mark}`) + 1;
  return frames.slice(0, frames.indexOf("\n\n", at) + 2);
}

const hops = new Set(["connection", "keep-alive", "transfer-encoding", "host"]);

/**
 * A proxy that hands a response on byte by byte. The header x-cut is how many bytes of a
 * response it hands on before it breaks the connection.
 */
export async function splitting(target) {
  const proxy = http.createServer(async (request, response) => {
    response.socket.setNoDelay(true);
    const cut = Number(request.headers["x-cut"] ?? Infinity);
    const headers = Object.entries(request.headers).filter(([name]) => !hops.has(name) && name !== "x-cut");
    const onward = http.request(target + request.url, { method: request.method, headers: Object.fromEntries(headers) });
    response.on("close", () => onward.destroy());
    onward.on("error", () => response.destroy());
    request.pipe(onward);
    const [answer] = await once(onward, "response").catch(() => []);
    if (!answer) return;
    response.writeHead(answer.statusCode, Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !hops.has(name))));
    response.flushHeaders();
    try {
      let sent = 0;
      for await (const chunk of answer) {
        for (let at = 0; at < chunk.length; ) {
          // Bytes, and after a while also pieces of a few.
          const size = sent < 4096 ? 1 : 1 + (sent % 11);
          const piece = chunk.subarray(at, at + Math.min(size, cut - sent));
          if (piece.length === 0) return void response.destroy();
          if (!response.write(piece)) await once(response, "drain");
          await breath(); // what is written at once is sent at once
          at += piece.length;
          sent += piece.length;
        }
      }
      response.end();
    } catch {
      response.destroy(); // one of the two sides is gone
    }
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    base: `http://127.0.0.1:${proxy.address().port}`,
    async stop() {
      proxy.close();
      proxy.closeAllConnections();
      await once(proxy, "close");
    },
  };
}

const binary = () => ["/usr/sbin/nginx", ...process.env.PATH.split(":").map((dir) => join(dir, "nginx"))].find(existsSync);

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/**
 * nginx with nothing configured but where to pass requests on, and `more`. Under
 * /deaf/ it does not hear what the server says of buffering.
 */
export async function nginx(target, more = "") {
  const program = binary();
  if (!program) throw new Error("nginx is needed: the Debian package nginx-light");
  const dir = mkdtempSync(join(tmpdir(), "inlay-nginx-"));
  const port = await freePort();
  const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${join(dir, name)};`).join("\n  ");
  writeFileSync(join(dir, "nginx.conf"), `
daemon off;
master_process off;
pid ${join(dir, "pid")};
error_log stderr warn;
events {}
http {
  ${temp}
  access_log off;
  server {
    listen 127.0.0.1:${port};
    ${more}
    location / {
      proxy_pass ${target};
    }
    location /deaf/ {
      proxy_pass ${target}/;
      proxy_ignore_headers X-Accel-Buffering;
    }
  }
}
`);
  const server = spawn(program, ["-p", dir, "-c", join(dir, "nginx.conf")], { stdio: ["ignore", "inherit", "pipe"] });
  let said = "";
  server.stderr.on("data", (text) => (said += text));
  for (const late = Date.now() + 10_000; ; ) {
    if (server.exitCode !== null || Date.now() > late) {
      server.kill("SIGKILL");
      throw new Error(`nginx does not listen: ${said}`);
    }
    const socket = connect(port, "127.0.0.1");
    const up = await Promise.race([once(socket, "connect").then(() => true), once(socket, "error").then(() => false)]).catch(() => false);
    socket.destroy();
    if (up) break;
    await sleep(20);
  }
  return {
    base: `http://127.0.0.1:${port}`,
    async stop() {
      if (server.exitCode === null) {
        server.kill("SIGTERM");
        await once(server, "exit");
      }
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

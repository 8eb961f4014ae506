// Serves a built page, and passes what it asks under /v1 to a server: one origin,
// as an installation would have it.
import { createReadStream, existsSync } from "node:fs";
import { createServer, request } from "node:http";
import { extname, join, normalize } from "node:path";

const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** Serves a folder before a server at `base`; `stop` ends it. */
export async function serve(folder, base) {
  const server = createServer((req, res) => {
    const { pathname } = new URL(req.url, "http://page");
    if (pathname.startsWith("/v1/")) return pass(req, res, base);
    const file = join(folder, normalize(pathname === "/" ? "/index.html" : pathname));
    if (!file.startsWith(folder) || !existsSync(file)) {
      res.writeHead(404).end();
      return;
    }
    res.writeHead(200, { "Content-Type": types[extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(res);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    stop: () => {
      server.closeAllConnections();
      return new Promise((closed) => server.close(closed));
    },
  };
}

function pass(req, res, base) {
  const to = request(
    new URL(req.url, base),
    { method: req.method, headers: req.headers },
    (answer) => {
      res.writeHead(answer.statusCode, answer.headers);
      res.flushHeaders();
      answer.pipe(res);
    },
  );
  to.on("error", () => res.destroy());
  // Who leaves the page leaves the server.
  res.on("close", () => to.destroy());
  req.pipe(to);
}

// Serves recorded streams as a server would: from the first event on, or after
// the id that a reader has seen; in pieces of any size; cut off anywhere.
import { once } from "node:events";
import { createServer } from "node:http";
import { setImmediate } from "node:timers/promises";

/**
 * The text that stands for a folded block where it is not drawn: of one that
 * leads somewhere a list of links, else its fallback, or what became of it.
 */
export function stands(block) {
  if (block.status !== "error" && block.type === "minara.feature_recommendation")
    return block.payload.items.map(({ label, action }) => `- [${label}](${action.target})`).join("\n");
  return block.fallback ?? `[${block.type}: ${block.error.message}]`;
}

/** Splits a stream into frames. */
export const frames = (stream) => stream.split(/(?<=\n\n)/).filter((f) => f !== "");

/**
 * Starts a server of streams by name. The query says how one is sent: `chunk`
 * bytes at a time, and only the first `cut` bytes of it.
 */
export async function serve(streams) {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    const all = frames(streams.get(decodeURIComponent(url.pathname.slice(1))));
    const after = request.headers["last-event-id"];
    const at = after === undefined ? 0 : all.findIndex((f) => f.startsWith(`id: ${after}\n`)) + 1;
    const body = Buffer.from(all.slice(at).join(""));
    const end = Number(url.searchParams.get("cut") ?? body.length);
    const chunk = Number(url.searchParams.get("chunk") ?? body.length);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (let i = 0; i < end; i += chunk) {
      response.write(body.subarray(i, Math.min(i + chunk, end)));
      if (chunk < 100) await setImmediate();
    }
    if (end < body.length) response.socket.end();
    else response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: (name, query = "") => `http://127.0.0.1:${server.address().port}/${encodeURIComponent(name)}?${query}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

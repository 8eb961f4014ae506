// Clients of card messages, written from the packets as a client team writes
// them: one that keeps the whole state, one that keeps a single string of
// Markdown.
import { EventSourceParserStream } from "eventsource-parser/stream";
import jsonpatch from "fast-json-patch";
import { fromMarkdown } from "mdast-util-from-markdown";

function expect(ok, what) {
  if (!ok) throw new Error(what);
}

function members(value, required, optional) {
  expect(typeof value === "object" && value !== null && !Array.isArray(value), `not an object: ${JSON.stringify(value)}`);
  for (const key of required) expect(value[key] !== undefined, `${key} is missing in ${JSON.stringify(value)}`);
  for (const [key, v] of Object.entries(value)) {
    expect(required.includes(key) || optional.includes(key), `unknown member ${key}`);
    expect(v !== null, `${key} is null`);
  }
}

/** How many packets are held while an earlier one is missing. */
const HELD = 64;

/** A message put together from its packets. */
export class Message {
  constructor() {
    this.id = undefined;
    this.seq = 0;
    this.state = { markdown: "", cards: {} };
    this.ends = [];
    this.held = new Map();
  }

  /** Takes a packet, in whatever order packets come. */
  take(packet) {
    members(packet, ["messageId", "seq", "type", "payload"], []);
    expect(Number.isInteger(packet.seq) && packet.seq > 0, `seq ${packet.seq}`);
    this.id ??= packet.messageId;
    expect(packet.messageId === this.id, "a packet of another message");
    if (packet.seq <= this.seq) return;
    if (packet.type === "full") this.apply(packet);
    else this.held.set(packet.seq, packet);
    for (let next = this.held.get(this.seq + 1); next; next = this.held.get(this.seq + 1)) this.apply(next);
    for (const seq of this.held.keys()) if (seq <= this.seq) this.held.delete(seq);
    expect(this.held.size <= HELD, `packet ${this.seq + 1} is missing`);
  }

  apply(packet) {
    const { type, payload } = packet;
    switch (type) {
      case "full": {
        members(payload, ["markdown", "cards"], ["tools", "finishReason", "usage", "error"]);
        for (const [id, card] of Object.entries(payload.cards)) this.card(card, id);
        const { finishReason, usage, error, ...state } = structuredClone(payload);
        this.state = state;
        this.ends = error ? [{ error }] : finishReason ? [{ finishReason, ...(usage && { usage }) }] : [];
        break;
      }
      case "append":
        members(payload, ["markdown"], []);
        this.state.markdown += payload.markdown;
        break;
      case "card":
        this.card(payload);
        expect(!this.state.cards[payload.id], "a card comes twice");
        this.state.cards[payload.id] = payload;
        break;
      case "patch":
        members(payload, ["patch"], []);
        this.state = this.patched(payload.patch);
        break;
      case "done":
        members(payload, ["finishReason"], ["usage", "model"]);
        this.ends.push(payload);
        break;
      case "error":
        members(payload, ["code", "message", "retryable"], []);
        this.ends.push({ error: payload });
        break;
      default:
        throw new Error(`type ${type} is not of the protocol`);
    }
    this.seq = packet.seq;
  }

  card(card, id = card.id) {
    members(
      card,
      ["id", "type", "schemaVersion"],
      ["title", "data", "actions", "state", "fallback", "error", "truncated", "url"],
    );
    expect(card.id === id, "a card under another id");
    expect(/^\d+\.\d+$/.test(card.schemaVersion), `schemaVersion ${card.schemaVersion}`);
    expect(card.data !== undefined || card.error, "a card without data");
    for (const a of card.actions ?? []) members(a, ["type", "name"], ["id", "text", "params", "feedback", "style", "prompt", "href", "confirm", "inputSchema", "disabledWhen"]);
  }

  /** The state after a patch; as a whole or not at all. */
  patched(operations) {
    let state = structuredClone(this.state);
    for (const operation of operations) {
      if (operation.op === "replace-substring") state.markdown = replaced(state.markdown, operation);
      else state = jsonpatch.applyOperation(state, operation, true).newDocument;
    }
    for (const [id, card] of Object.entries(state.cards)) this.card(card, id);
    return state;
  }

  /** The cards as they stand in the text: what a page draws. */
  drawn() {
    return drawn(this.state.markdown).map(({ id }) => this.state.cards[id]).filter(Boolean);
  }
}

/** A client that keeps one string and passes over what it does not know. */
export class MarkdownOnly {
  constructor() {
    this.seq = 0;
    this.markdown = "";
  }

  take({ seq, type, payload }) {
    if (seq <= this.seq) return;
    expect(type === "full" || seq === this.seq + 1, `packet ${this.seq + 1} is missing`);
    this.seq = seq;
    if (type === "full") this.markdown = payload.markdown;
    if (type === "append") this.markdown += payload.markdown;
    if (type === "patch")
      for (const operation of payload.patch)
        if (operation.path === "/markdown") this.markdown = replaced(this.markdown, operation);
  }
}

function replaced(markdown, operation) {
  members(operation, ["op", "path", "substring", "replacement"], []);
  const { path, substring, replacement } = operation;
  expect(path === "/markdown" && substring !== "", `replace-substring at ${path}`);
  const at = markdown.indexOf(substring);
  if (at < 0 && replacement !== "" && markdown.includes(replacement)) return markdown;
  expect(at >= 0, `patch_miss: ${substring}`);
  expect(markdown.indexOf(substring, at + 1) < 0, `patch_ambiguous: ${substring}`);
  return markdown.slice(0, at) + replacement + markdown.slice(at + substring.length);
}

/** The fenced cards of a text, as CommonMark sees it. */
export function drawn(markdown) {
  const out = [];
  for (const node of fromMarkdown(markdown).children) {
    const name = node.type === "code" && /^([A-Za-z][\w.-]*)@(\d+)$/.exec(node.lang ?? "");
    if (!name) continue;
    const id = /(?:^| )id=(\S+)/.exec(node.meta ?? "")?.[1];
    if (id) out.push({ id, name: name[1], major: Number(name[2]), body: JSON.parse(node.value) });
  }
  return out;
}

/**
 * Reads a stream into a client until it ends, however it ends, and returns the
 * id to go on after.
 */
export async function read(url, client, lastEventId = "") {
  const headers = { accept: "text/event-stream", ...(lastEventId && { "last-event-id": lastEventId }) };
  return follow(await fetch(url, { headers }), client, lastEventId);
}

/** The same of a stream that is open, up to a number of packets. */
export async function follow(response, client, lastEventId = "", most = Infinity) {
  expect(response.ok, `status ${response.status}`);
  let n = 0;
  const events = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ onError: "terminate" }));
  try {
    for await (const { id, event, data } of events) {
      expect(event === undefined || event === "message", `an event named ${event}`);
      client.take(JSON.parse(data));
      if (id !== undefined) lastEventId = id;
      if (++n >= most) break;
    }
  } catch (error) {
    if (error?.message !== "terminated") throw error; // the connection broke
  }
  return lastEventId;
}

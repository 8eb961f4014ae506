// A client of the UI Block Protocol, written from the protocol's own types as
// a client team writes it: no knowledge of this product's log, and an error for
// whatever the types do not allow.
import { EventSourceParserStream } from "eventsource-parser/stream";

const own = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function expect(ok, what) {
  if (!ok) throw new Error(what);
}

function members(value, required, optional) {
  expect(own(value), `not an object: ${JSON.stringify(value)}`);
  for (const key of required) expect(value[key] !== undefined, `${key} is missing in ${JSON.stringify(value)}`);
  for (const [key, v] of Object.entries(value)) {
    expect(required.includes(key) || optional.includes(key), `unknown member ${key}`);
    expect(v !== null || key === "data", `${key} is null`);
  }
}

const segment = /^[a-z0-9_-]+$/;
const namespace = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;
const semver = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;
const vendorKey = /^[a-z0-9.-]+\/[A-Za-z0-9_.-]+$/;

/** One message as the stream has told it so far. */
export class Message {
  constructor() {
    this.reset();
  }

  reset() {
    this.started = false;
    this.sessionId = undefined;
    this.supported = [];
    /** {text} or {block}, in the order of arrival */
    this.parts = [];
    this.tools = new Map();
    this.questions = new Map();
    this.ends = [];
  }

  apply(event) {
    members(event, ["type", "data"], []);
    const { type, data } = event;
    expect(own(data), `data of ${type} is no object`);
    expect(this.started || type === "start", `${type} before start`);
    switch (type) {
      case "start":
        this.reset();
        this.start(data);
        break;
      case "text_delta":
        members(data, ["text"], []);
        expect(typeof data.text === "string", "text is no string");
        this.text(data.text);
        break;
      case "ui_block":
        this.block(data);
        break;
      case "tool_call_start":
      case "sub_tool_start":
        members(data, ["toolCallId", "name"], ["title"]);
        expect(!this.tools.has(data.toolCallId), "a call starts twice");
        this.tools.set(data.toolCallId, { ...data, status: "running", sub: type === "sub_tool_start" });
        break;
      case "tool_call_end":
      case "sub_tool_end": {
        members(data, ["toolCallId", "name", "status"], ["title", "durationMs"]);
        const call = this.tools.get(data.toolCallId);
        expect(call?.status === "running", "a call ends that does not run");
        this.tools.set(data.toolCallId, { ...call, ...data });
        break;
      }
      case "pending_question_start":
        expect(typeof data.questionId === "string", "a question without id");
        this.questions.set(data.questionId, "pending");
        break;
      case "pending_question_end":
        expect(this.questions.get(data.questionId) === "pending", "a question ends that nobody asked");
        this.questions.set(data.questionId, data.status);
        break;
      case "done":
        members(data, ["finishReason"], ["usage", "model"]);
        this.ends.push(data);
        break;
      case "error":
        members(data, ["code", "message", "retryable"], []);
        this.ends.push({ error: data });
        break;
      default:
        throw new Error(`type ${type} is not of the protocol`);
    }
  }

  start(data) {
    members(data, ["supported_blocks"], ["ts", "session_id", "rejected_capabilities"]);
    expect(data.ts === undefined || Number.isInteger(data.ts), "ts is no time");
    for (const entry of data.supported_blocks) {
      members(entry, ["namespace", "block_type", "version"], []);
      expect(namespace.test(entry.namespace) && segment.test(entry.block_type), "a name outside the grammar");
      expect(Number.isInteger(entry.version) && entry.version > 0, "a version that is no major");
    }
    this.started = true;
    this.sessionId = data.session_id;
    this.supported = data.supported_blocks;
  }

  text(text) {
    const last = this.parts.at(-1);
    if (last?.text !== undefined) last.text += text;
    else this.parts.push({ text });
  }

  block(block) {
    members(block, ["id", "namespace", "block_type", "version", "data"], ["position", "_meta"]);
    expect(typeof block.id === "string" && block.id !== "", "a block without id");
    const major = Number(semver.exec(block.version)?.[1]);
    expect(major > 0, `version ${block.version}`);
    expect(
      this.supported.some(
        (s) => s.namespace === block.namespace && s.block_type === block.block_type && s.version === major,
      ),
      `${block.namespace}.${block.block_type} was not negotiated`,
    );
    expect(
      block.position === undefined || ["after_text", "inline", "before_text"].includes(block.position),
      `position ${block.position}`,
    );
    for (const key of Object.keys(block._meta ?? {})) expect(vendorKey.test(key), `_meta key ${key}`);
    const known = this.parts.find((p) => p.block?.id === block.id);
    if (known) known.block = block;
    else this.parts.push({ block });
  }
}

/**
 * Reads a stream into a message until it ends, however it ends, and returns the
 * id to go on after.
 */
export async function read(url, message, lastEventId = "") {
  const headers = { accept: "text/event-stream", ...(lastEventId && { "last-event-id": lastEventId }) };
  const response = await fetch(url, { method: lastEventId ? "GET" : "POST", headers });
  return follow(response, message, lastEventId);
}

/**
 * Reads an answer's stream into a message, up to its end or to so many events
 * that were told, and returns the id to go on after.
 */
export async function follow(response, message, lastEventId = "", most = Infinity) {
  expect(response.ok, `status ${response.status}`);
  expect(/^text\/event-stream\b/.test(response.headers.get("content-type")), "no event stream");
  const events = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ onError: "terminate" }));
  try {
    for await (const { id, event, data } of events) {
      expect(event === undefined || event === "message", `an event named ${event}`);
      message.apply(JSON.parse(data));
      if (id !== undefined) lastEventId = id;
      if (--most <= 0) break; // which also lets the connection go
    }
  } catch (error) {
    if (error?.cause?.code !== "UND_ERR_SOCKET" && error?.code !== "ERR_STREAM_PREMATURE_CLOSE" && error?.message !== "terminated") throw error;
  }
  return lastEventId;
}

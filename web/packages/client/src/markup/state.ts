import { bytesOf } from "./chars.ts";
import type { MarkupConfig, TagSpec } from "./config.ts";
import { limits } from "./config.ts";
import type { Container } from "./container.ts";
import type { EndReason, FallbackReason, MarkupEvent, Syntax } from "./event.ts";
import { type Fence, type InfoScan, newFence, newInfo } from "./fence.ts";
import { spanText } from "./holdback.ts";
import { HTMLBlock } from "./html.ts";
import { Inline } from "./inline.ts";
import type { RuleScan } from "./line.ts";
import { makeNames, type Names } from "./names.ts";
import { HolderScan } from "./placeholder.ts";
import { type Frame, TagScan } from "./tag.ts";

/** Says what reads the next character. */
export type Mode =
  /** The beginning of a line, held until it is known what it is. */
  | "line"
  /** Text of a paragraph or heading. */
  | "inline"
  /** The rest of a line in which nothing can be found. */
  | "literal"
  /** A line of an HTML block. */
  | "html"
  /** A line of dashes or the like, longer than what is held. */
  | "rule"
  /** A line of blanks, longer than what is held. */
  | "blanks"
  /** Behind the run of what may be a fence. */
  | "info"
  /** A line of a fence's body. */
  | "body"
  /** A line that may close a fence, longer than what is held. */
  | "closer"
  /** Inside a tag. */
  | "tags"
  /** Structure that could not be followed; all is text. */
  | "lost";

/** The config with its limits. */
export type Config = Required<Omit<MarkupConfig, "fences" | "placeholders" | "tags">> & {
  tags: Readonly<Record<string, TagSpec>>;
};

/** What a scanner remembers, shared by the files that each read one part of the text. */
export class State {
  readonly cfg: Config;
  readonly fences: Names;
  readonly holders: Names;
  readonly tags: Names;

  mode: Mode = "line";
  closed = false;
  reason: EndReason = "stop";
  ids = 0;

  /** The beginning of a line while it is held. */
  line = "";
  conts: Container[] = [];
  /** Those that the line being looked at opens. */
  opened: Container[] = [];
  /** A paragraph is open. */
  para = false;
  /** The text is that of a heading. */
  heading = false;
  rule: RuleScan = { mark: 0, gap: false };

  inline = new Inline();
  /** What may become a placeholder, a tag or a fence, and its bytes. */
  hold = "";
  held = 0;
  holder = new HolderScan();
  tag = new TagScan();
  info: InfoScan = newInfo();

  /** The open block at top level, from its beginning. */
  src = "";
  fence: Fence = newFence();
  html = new HTMLBlock();
  /** The open tags, outermost first. */
  frames: Frame[] = [];
  /** Bytes inside the outermost of them. */
  inside = 0;

  /** Counts what was looked at, again included, so that tests hold the scanner to its bound. */
  looked = 0;

  #kind: "text" | "delta" = "text";
  #id = 0;
  #parent = 0;
  #waits = "";

  constructor(
    config: MarkupConfig,
    readonly sink: (event: MarkupEvent) => void,
  ) {
    const limit = (value: number | undefined, initial: number) =>
      value !== undefined && value > 0 ? value : initial;
    this.cfg = {
      tags: config.tags ?? {},
      maxBody: limit(config.maxBody, limits.maxBody),
      maxInfo: limit(config.maxInfo, limits.maxInfo),
      maxTag: limit(config.maxTag, limits.maxTag),
      maxId: limit(config.maxId, limits.maxId),
      holdback: config.holdback ?? 0,
      lenient: config.lenient ?? {},
    };
    this.fences = makeNames(config.fences ?? []);
    this.holders = makeNames(config.placeholders ?? []);
    this.tags = makeNames(Object.keys(this.cfg.tags));
  }

  /** Passes text on, past what waits for the end of a code span. */
  text(p: string): void {
    if (this.inline.span.holding) spanText(this, p);
    else this.piece("text", 0, p);
  }

  /** Sends a piece of a text or a body, joined with the one before where it continues that. */
  piece(kind: "text" | "delta", id: number, p: string, parent = 0): void {
    if (!p) return;
    if (kind !== this.#kind || id !== this.#id) {
      this.flush();
      this.#kind = kind;
      this.#id = id;
      this.#parent = parent;
    }
    this.#waits += p;
  }

  /** Sends the piece that waits. */
  flush(): void {
    const text = this.#waits;
    if (!text) return;
    this.#waits = "";
    if (this.#kind === "text") this.sink({ kind: "text", text });
    else {
      const parent = this.#parent;
      this.sink({ kind: "delta", id: this.#id, ...(parent && { parent }), text });
    }
  }

  /** Sends an event that is no piece. */
  event(e: MarkupEvent): void {
    this.flush();
    this.sink(e);
  }

  /** Begins to hold. */
  holdFrom(text: string): void {
    this.hold = text;
    this.held = bytesOf(text);
  }

  /** Holds more. */
  keep(text: string): void {
    this.hold += text;
    this.held += bytesOf(text);
  }

  /** Forgets what is held and returns it. */
  takeHold(): string {
    const text = this.hold;
    this.hold = "";
    this.held = 0;
    return text;
  }

  /** Gives up a held beginning: it is text. */
  release(): void {
    this.looked += this.hold.length;
    this.text(this.takeHold());
  }

  /** Follows every line end. */
  nextLine(): void {
    this.line = "";
    this.mode = "line";
  }

  /** Opens a block and returns its id. */
  start(parent: number, syntax: Syntax, type: string, meta?: Record<string, string>): number {
    const id = ++this.ids;
    this.event({
      kind: "start",
      id,
      ...(parent && { parent }),
      syntax,
      type,
      ...(meta && { meta }),
    });
    return id;
  }

  /** Closes a block that is none. */
  fallBack(id: number, parent: number, reason: FallbackReason, text: string): void {
    this.event({ kind: "fallback", id, ...(parent && { parent }), reason, text });
  }
}

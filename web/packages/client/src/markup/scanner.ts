import { paired } from "./chars.ts";
import type { MarkupConfig } from "./config.ts";
import { end } from "./container.ts";
import type { EndReason, MarkupEvent } from "./event.ts";
import { endFence, endInfo } from "./fence.ts";
import { endText } from "./inline.ts";
import { endBody } from "./lenient.ts";
import { endLong, endParagraph, mode, settleLine } from "./line.ts";
import { scan } from "./scan.ts";
import { State } from "./state.ts";
import { endTags } from "./tag.ts";

/**
 * Tells cards from the text around them while the text streams. It calls the
 * sink with each event, in order, before `push` and `close` return. Texts and
 * sources at top level are together the text; however that is cut, the events
 * are the same once neighbouring pieces are joined; and nothing is a card that
 * CommonMark takes for code, HTML, or the target of a link.
 */
export class Scanner {
  readonly #s: State;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Bytes were pushed, of which the decoder may hold some. */
  #bytes = false;
  /** The first half of a character that a push was cut in. */
  #half = "";

  constructor(config: MarkupConfig, sink: (event: MarkupEvent) => void) {
    this.#s = new State(config, sink);
  }

  /**
   * Takes the next piece of the text, cut anywhere, even inside a character:
   * text, or its bytes in UTF-8. What is neither, and NUL, becomes U+FFFD.
   * Nothing follows {@link close}.
   */
  push(piece: string | Uint8Array): void {
    if (this.#s.closed) return;
    if (typeof piece === "string") this.#scan(this.#rest() + piece);
    else {
      this.#bytes = true;
      this.#scan(this.#decoder.decode(piece, { stream: true }));
    }
    this.#s.flush();
  }

  /** Ends the text: what is held becomes text, open blocks get their end. */
  close(reason: EndReason = "stop"): void {
    const s = this.#s;
    if (s.closed) return;
    this.#scan(this.#rest());
    if (this.#half) scan(s, "\ufffd");
    this.#half = "";
    s.closed = true;
    s.reason = reason;
    if (s.mode === "line" && s.line) settleLine(s, end);
    else if (s.mode === "rule" || s.mode === "blanks") endLong(s, end);
    // What settled the line may have gone on in another mode.
    if (mode(s) === "info") endInfo(s, "");
    if (mode(s) === "inline") endText(s);
    endBody(s);
    if (s.fence.open) endFence(s);
    if (s.frames.length > 0) endTags(s);
    endParagraph(s);
    s.flush();
  }

  /** How much was looked at so far, what was looked at again included. */
  get looked(): number {
    return this.#s.looked;
  }

  /** What becomes of an unfinished character. */
  #rest(): string {
    if (!this.#bytes) return "";
    this.#bytes = false;
    return this.#decoder.decode();
  }

  #scan(piece: string): void {
    let text = this.#half + piece;
    if (!text) return;
    this.#half = "";
    const last = text.charCodeAt(text.length - 1);
    if (last >= 0xd800 && last < 0xdc00) {
      this.#half = text.slice(-1);
      text = text.slice(0, -1);
    }
    scan(this.#s, paired(text).replaceAll("\0", "\ufffd"));
  }
}

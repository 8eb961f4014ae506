import * as c from "./chars.ts";
import type { Scanned } from "./inline.ts";

/** The length of a link label in CommonMark. */
const maxLabel = 999;

/**
 * Follows what may be the target of a link, [label](target "title"), or a
 * definition, [label]: target "title". Neither is text, and a backtick there
 * opens no code span, all of which is known only at their end.
 */
export class LinkScan {
  state:
    | ""
    /** In the bracket with which a paragraph begins. */
    | "label"
    /** Behind that bracket. */
    | "colon"
    /** At a line that may go on with definitions. */
    | "next"
    /** Before the destination. */
    | "dest"
    /** In a destination in angle brackets. */
    | "angle"
    /** Behind one. */
    | "angled"
    /** In another destination. */
    | "bare"
    /** In the blanks behind the destination. */
    | "after"
    /** In the title. */
    | "title"
    /** Behind it. */
    | "titled" = "";
  /** The paragraph has a definition. */
  defined = false;
  /** It is a definition. */
  def = false;
  /** The title is on a line of its own: without it the definition stands. */
  alone = false;
  escaped = false;
  quote = 0;
  depth = 0;
  size = 0;
  /** Backticks were seen. */
  ticks = false;
  /** HTML or a link might have begun inside, which was not followed. */
  inner = false;

  get on(): boolean {
    return this.state !== "";
  }

  /** What stands here may be no text. */
  get hides(): boolean {
    return this.on && this.state !== "label" && this.state !== "colon" && this.state !== "next";
  }

  #begin(state: LinkScan["state"], def: boolean): void {
    this.state = state;
    this.def = def;
    this.alone = this.escaped = this.ticks = this.inner = false;
    this.quote = this.depth = this.size = 0;
  }

  beginTarget(): void {
    this.#begin("dest", false);
  }

  beginLabel(): void {
    this.#begin("label", true);
    this.size = -1;
  }

  end(): void {
    this.#begin("", false);
  }

  /** Ends what began as a label and turned out to be something else. */
  endLabel(): void {
    if (this.state === "label") this.end();
  }

  /** Goes on behind a complete definition. Without a title yet, one may follow. */
  nextDefinition(): void {
    const alone = this.state === "after";
    this.#begin("next", true);
    this.defined = true;
    this.alone = alone;
  }

  /** Looks at the first character of a line that goes on with a paragraph. */
  lineStart(char: number): void {
    if (this.state !== "next") return;
    if (char === c.bracket) this.beginLabel();
    else if (this.alone && (char === c.quote || char === c.apostrophe || char === c.open)) {
      this.#begin("after", true);
      this.alone = true;
    } else this.end();
  }

  step(char: number): Scanned {
    if (this.state === "") return "off";
    this.ticks ||= char === c.tick;
    if (this.escaped) {
      this.escaped = false;
      if (char !== c.lf) return "on";
    }
    if (this.state === "label") {
      if (this.size < 0) {
        // Blanks may stand before the bracket.
        if (char === c.bracket) this.size = 0;
        return "on";
      }
      this.size++;
      if (char === c.backslash) this.escaped = true;
      else if (char === c.unbracket) this.state = "colon";
      else if (char === c.bracket || this.size > maxLabel) return "failed";
      return "on";
    }
    if (this.state === "colon") {
      if (char !== c.colon) return "failed";
      this.state = "dest";
      this.inner = false;
      return "on";
    }
    const blank = c.blank(char);
    this.inner ||= char === c.less;
    switch (this.state) {
      case "dest":
        if (blank) return "on";
        if (char === c.less) {
          this.state = "angle";
          return "on";
        }
        if (char === c.close && !this.def) return "done";
        this.state = "bare";
        return this.#bare(char);
      case "angle":
        if (char === c.backslash) this.escaped = true;
        else if (char === c.greater) this.state = "angled";
        else if (char === c.less || char === c.lf) return "failed";
        return "on";
      case "angled":
      case "bare":
        if (!blank) return this.state === "bare" ? this.#bare(char) : this.#closing(char);
        this.state = "after";
        return this.#lineEnd(char);
      case "after":
        if (blank) return this.#lineEnd(char);
        if (char !== c.quote && char !== c.apostrophe && char !== c.open) {
          return this.#closing(char);
        }
        this.state = "title";
        this.quote = char === c.open ? c.close : char;
        return "on";
      case "title":
        if (char === c.backslash) this.escaped = true;
        else if (char === this.quote) this.state = "titled";
        else if (char === c.open && this.quote === c.close) return "failed";
        return "on";
      case "titled":
        return blank ? this.#lineEnd(char) : this.#closing(char);
      case "next":
        return "failed";
    }
  }

  /** Takes a character of a destination without brackets. */
  #bare(char: number): Scanned {
    if (char === c.backslash) this.escaped = true;
    else if (char === c.open) this.depth++;
    else if (char === c.close && this.depth > 0) this.depth--;
    else if (char === c.close) return this.#closing(char);
    else if (char < c.space || char === c.del) return "failed";
    return "on";
  }

  /** Takes what ends a link. */
  #closing(char: number): Scanned {
    return char === c.close && !this.def ? "done" : "failed";
  }

  /** Takes a blank where a definition may end with its line. */
  #lineEnd(char: number): Scanned {
    return char === c.lf && this.def ? "done" : "on";
  }
}

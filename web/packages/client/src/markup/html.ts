import * as c from "./chars.ts";
import type { Scanned } from "./inline.ts";
import { digit, letter, makeNames, type Names, nameAt, root, step } from "./names.ts";
import type { State } from "./state.ts";

/** How long a part of a mail address's domain may be. */
const maxMailPart = 63;

const cdataOpen = "CDATA[";

const mailChars = c.charSet(".!#$%&'*+/=?^_`{|}~-");

/**
 * Follows what may be raw HTML or an autolink within a line. It is not text, and
 * a backtick in it opens no code span, which is known only at its end; so it is
 * followed beside the text that it may turn out not to be.
 */
export class HTMLScan {
  state:
    | ""
    /** It is no HTML, but may be a mail address. */
    | "none"
    /** Behind the <. */
    | "open"
    /** A tag's name, or an autolink's scheme. */
    | "name"
    /** An autolink behind its scheme. */
    | "uri"
    /** Between attributes. */
    | "blanks"
    | "key"
    | "afterKey"
    /** Before an attribute's value. */
    | "equals"
    /** A value without quotes. */
    | "bare"
    | "quoted"
    /** Behind a value in quotes. */
    | "valued"
    /** Before the > of an empty tag. */
    | "slash"
    /** Behind the </. */
    | "close"
    | "closeName"
    | "closeEnd"
    /** Behind the <!. */
    | "bang"
    /** Behind the <!-. */
    | "dash"
    | "comment"
    /** A processing instruction. */
    | "question"
    | "declare"
    | "cdata" = "";
  mail: "" | "local" | "dot" | "part" | "hyphen" = "";
  quote = 0;
  size = 0;
  /** The length of the part of a mail address's domain. */
  part = 0;
  /** The name may be a scheme. */
  scheme = false;
  /** The name may be a tag's. */
  name = false;
  /** It is an opening or closing tag. */
  tag = false;
  /** A paragraph begins with it. */
  lead = false;
  /** HTML or a link might have begun inside, which was not followed. */
  inner = false;

  get on(): boolean {
    return this.state !== "";
  }

  begin(lead: boolean): void {
    this.end();
    this.state = "open";
    this.mail = "local";
    this.lead = lead;
  }

  end(): void {
    this.state = this.mail = "";
    this.quote = this.size = this.part = 0;
    this.scheme = this.name = this.tag = this.lead = this.inner = false;
  }

  step(char: number): Scanned {
    if (this.state === "") return "off";
    const mail = this.mail === "" ? "failed" : this.#mail(char);
    const html = this.state === "none" ? "failed" : this.#html(char);
    if (mail === "done" || html === "done") return "done";
    if (html === "on") return "on";
    if (mail === "failed") return "failed";
    this.state = "none";
    return "on";
  }

  #html(char: number): Scanned {
    const blank = c.blank(char);
    switch (this.state) {
      case "open":
        if (letter(char)) {
          this.state = "name";
          this.size = 1;
          this.scheme = this.name = true;
        } else if (char === c.slash) this.state = "close";
        else if (char === c.bang) this.state = "bang";
        else if (char === c.question) {
          this.state = "question";
          this.size = 0;
        } else return "failed";
        return "on";
      case "name": {
        if (char === c.colon && this.scheme && this.size >= 2) {
          this.state = "uri";
          return "on";
        }
        const word = letter(char) || digit(char) || char === c.dash;
        if (this.name && !word && (blank || char === c.slash || char === c.greater)) {
          return this.#next(char, blank);
        }
        this.size++;
        this.name &&= word;
        this.scheme &&= this.size <= 32 && (word || char === c.plus || char === c.dot);
        return this.name || this.scheme ? "on" : "failed";
      }
      case "uri":
        if (char === c.greater) return "done";
        return char <= c.space || char === c.less || char === c.del ? "failed" : "on";
      case "blanks":
        return blank ? "on" : this.#attribute(char);
      case "key":
        if (letter(char) || digit(char) || /[_.:-]/.test(String.fromCharCode(char))) return "on";
        if (char === c.equals) this.state = "equals";
        else if (blank) this.state = "afterKey";
        else return this.#next(char, blank);
        return "on";
      case "afterKey":
        if (blank) return "on";
        if (char !== c.equals) return this.#attribute(char);
        this.state = "equals";
        return "on";
      case "equals":
        if (blank) return "on";
        if (char === c.quote || char === c.apostrophe) {
          this.state = "quoted";
          this.quote = char;
        } else if (isBareStop(char)) return "failed";
        else this.state = "bare";
        return "on";
      case "bare":
        if (blank) this.state = "blanks";
        else if (char === c.greater) return this.#tagDone();
        else if (char === c.quote || char === c.apostrophe || isBareStop(char)) return "failed";
        return "on";
      case "quoted":
        if (char === this.quote) this.state = "valued";
        this.inner ||= char === c.less;
        return "on";
      case "valued":
        return this.#next(char, blank);
      case "slash":
        return char === c.greater ? this.#tagDone() : "failed";
      case "close":
        if (!letter(char)) return "failed";
        this.state = "closeName";
        return "on";
      case "closeName":
      case "closeEnd":
        if (char === c.greater) return this.#tagDone();
        if (blank) {
          this.state = "closeEnd";
          return "on";
        }
        if (this.state === "closeEnd") return "failed";
        return letter(char) || digit(char) || char === c.dash ? "on" : "failed";
      case "bang":
        if (char === c.dash) this.state = "dash";
        else if (char === c.bracket) {
          this.state = "cdata";
          this.size = 0;
        } else if (letter(char)) this.state = "declare";
        else return "failed";
        return "on";
      case "dash":
        if (char !== c.dash) return "failed";
        // The dashes that open an empty comment also close it: <!-->, <!--->.
        this.state = "comment";
        this.size = 2;
        return "on";
      case "comment":
        this.inner ||= char === c.less;
        if (char === c.dash) this.size = Math.min(this.size + 1, 2);
        else if (char === c.greater && this.size >= 2) return "done";
        else this.size = 0;
        return "on";
      case "question":
        this.inner ||= char === c.less;
        if (char === c.greater && this.size > 0) return "done";
        this.size = char === c.question ? 1 : 0;
        return "on";
      case "declare":
        this.inner ||= char === c.less;
        return char === c.greater ? "done" : "on";
      case "cdata":
        this.inner ||= char === c.less;
        return this.#cdata(char);
    }
    return "on";
  }

  #tagDone(): Scanned {
    this.tag = true;
    return "done";
  }

  /** Takes what follows a name or a value. */
  #next(char: number, blank: boolean): Scanned {
    if (blank) this.state = "blanks";
    else if (char === c.slash) this.state = "slash";
    else if (char === c.greater) return this.#tagDone();
    else return "failed";
    return "on";
  }

  /** Takes what follows blanks: another attribute, or the end. */
  #attribute(char: number): Scanned {
    if (!letter(char) && char !== c.underscore && char !== c.colon) return this.#next(char, false);
    this.state = "key";
    return "on";
  }

  /**
   * Takes a character of a CDATA section; the size counts those of its opening,
   * and then, beyond those, of its end.
   */
  #cdata(char: number): Scanned {
    const opened = cdataOpen.length;
    if (this.size < opened) {
      if (char !== cdataOpen.charCodeAt(this.size)) return "failed";
      this.size++;
    } else if (char === c.unbracket) this.size = Math.min(this.size + 1, opened + 2);
    else if (char === c.greater && this.size === opened + 2) return "done";
    else this.size = opened;
    return "on";
  }

  #mail(char: number): Scanned {
    const word = letter(char) || digit(char);
    switch (this.mail) {
      case "local":
        if (char === c.at) this.mail = this.state === "open" ? "" : "dot";
        else if (!word && !mailChars[char]) this.mail = "";
        break;
      case "dot":
        this.mail = word ? "part" : "";
        this.part = 1;
        break;
      case "part":
      case "hyphen":
        this.part++;
        if (this.part > maxMailPart && char !== c.dot && char !== c.greater) this.mail = "";
        else if (word) this.mail = "part";
        else if (char === c.dash) this.mail = "hyphen";
        else if (char === c.dot && this.mail === "part") this.mail = "dot";
        else if (char === c.greater && this.mail === "part") return "done";
        else this.mail = "";
    }
    return this.mail === "" ? "failed" : "on";
  }
}

/** What ends a value without quotes, or is no part of one. */
function isBareStop(char: number): boolean {
  return char === c.equals || char === c.less || char === c.greater || char === c.tick;
}

// The kinds of HTML blocks, as CommonMark numbers them.
const verbatim = 1; // <script>, <pre>, <style>, <textarea>
const commented = 2;
const instruction = 3;
const declaration = 4;
const characters = 5;
const element = 6; // of a list of names; up to a blank line
/** A line that consists of any other tag; up to a blank line. */
export const tagAlone = 7;

/** How long the end of an HTML block is at most. */
const maxEnd = "</textarea>".length;

/** The open HTML block. Nothing in it is text. */
export class HTMLBlock {
  kind = 0;
  /** The end of the line so far, in which the block's end may begin. */
  last = "";
  /** The line has the block's end. */
  over = false;

  begin(kind: number): void {
    this.kind = kind;
    this.last = "";
    this.over = false;
  }

  /** Finds the block's end in a piece of a line. */
  look(p: string): void {
    const seen = this.last + p.toLowerCase();
    this.over ||= ends(this.kind, seen);
    this.last = seen.slice(-maxEnd);
  }
}

function ends(kind: number, seen: string): boolean {
  switch (kind) {
    case verbatim:
      return verbatimNames.some((name) => seen.includes(`</${name}>`));
    case commented:
      return seen.includes("-->");
    case instruction:
      return seen.includes("?>");
    case characters:
      return seen.includes("]]>");
  }
  return seen.includes(">");
}

/** The elements that begin an HTML block. */
const verbatimNames = makeNames(["pre", "script", "style", "textarea"]);
const elementNames = makeNames(
  (
    "address article aside base basefont blockquote body caption center col colgroup dd details " +
    "dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 " +
    "head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option " +
    "p param search section summary table tbody td tfoot th thead title tr track ul"
  ).split(" "),
);
const blockNames = makeNames([...verbatimNames, ...elementNames]);

/**
 * Says whether a character can be one more of what decides that an HTML block
 * begins, behind the < and what was seen.
 */
export function mayOpenHTML(seen: string, char: number): boolean {
  const n = seen.length;
  for (const opener of ["!--", "![CDATA[", "?"]) {
    if (opener.startsWith(seen) && opener.charCodeAt(n) === char) return true;
  }
  if (n === 0) return char === c.slash || goesOn("", char);
  if (seen.startsWith("!")) return n === 1 && letter(char);
  const word = seen.startsWith("/") ? seen.slice(1) : seen;
  if (char === c.slash) return word !== "" && !word.endsWith("/");
  return goesOn(word, char);
}

function goesOn(word: string, char: number): boolean {
  const at = walk(blockNames, word.toLowerCase());
  return at !== null && step(blockNames, at, c.lower(char)) !== null;
}

function walk(names: Names, word: string) {
  let at: ReturnType<typeof step> = root(names);
  for (let i = 0; at && i < word.length; i++) at = step(names, at, word.charCodeAt(i));
  return at;
}

function has(names: Names, word: string): boolean {
  const at = walk(names, word);
  return at !== null && nameAt(names, at) !== "";
}

/**
 * Which kind of HTML block begins with `rest`, which begins with a <; 0 for none
 * or one that only the whole line can tell.
 */
export function htmlKind(s: State, rest: string, next: number): number {
  if (rest.length < 2) return 0;
  if (rest.startsWith("<!--")) return commented;
  if (rest.startsWith("<?")) return instruction;
  if (rest.startsWith("<![CDATA[")) return characters;
  if (rest.startsWith("<!")) return letter(rest.charCodeAt(2)) ? declaration : 0;
  const closing = rest.startsWith("</");
  const word = rest.slice(closing ? 2 : 1);
  let n = 0;
  while (letter(word.charCodeAt(n)) || digit(word.charCodeAt(n))) n++;
  const name = word.slice(0, n);
  if (!closing && Object.hasOwn(s.cfg.tags, name)) return 0;
  const after = n < word.length ? word.charCodeAt(n) : next;
  const empty = after === c.slash && n + 1 === word.length && next === c.greater;
  const over = after === -1 || c.blank(after) || after === c.greater;
  if (over && !closing && has(verbatimNames, name.toLowerCase())) return verbatim;
  return (over || empty) && has(elementNames, name.toLowerCase()) ? element : 0;
}

/** Passes a line of an HTML block and looks for the block's end. */
export function scanHTML(s: State, p: string, from: number): number {
  const to = p.indexOf("\n", from) + 1;
  const line = to === 0 ? p.slice(from) : p.slice(from, to);
  s.text(line);
  const b = s.html;
  if (b.kind < element) {
    b.look(line);
    if (to > 0) {
      if (b.over) b.kind = 0;
      b.last = "";
    }
  }
  if (to === 0) return p.length;
  s.nextLine();
  return to;
}

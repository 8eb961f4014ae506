import { applyPatch, put } from "../patch.ts";
import type { Block, ErrorInfo, PatchOperation } from "../types.ts";
import type { Lenient, MarkupConfig, TagSpec } from "./config.ts";
import type { EndReason, FallbackReason, MarkupEvent, Syntax } from "./event.ts";
import { JSONStream, JSONStreamError, maxDepth } from "./json.ts";
import { Scanner } from "./scanner.ts";

/** What a page knows of a card that a model may write. */
export interface CardSpec {
  /** The type of the block that it becomes. Of the name when absent: `app.product_card`. */
  type?: string;
  /** The body is shown while it is still being written. */
  streaming?: boolean;
  /**
   * Pointers to what is not the model's to say, such as `/price`; a `*` in one
   * stands for every item of a list. What the model wrote there is dropped, also
   * where it put one item for the list or a list for the object, and `resolve`
   * fills it, by the id of the card or of the object that it stands in. Where versions of the card differ, the pointers of each stand
   * under its major; a version that is not among them has those of all. In words
   * a member of such a name is nowhere.
   */
  serverFields?: readonly string[] | Readonly<Record<number, readonly string[]>>;
  /** Says what is wrong with a payload, or null. A wrong one is shown as its source. */
  check?(payload: unknown): string | null;
  /** What stands for the card where it cannot be drawn; its source when absent. */
  fallback?(payload: unknown): string;
  /** The height of its skeleton in CSS pixels. */
  estimatedHeight?: number;
}

/** Names that may be written, with what is known of each. A list when nothing is. */
export type CardNames = readonly string[] | Readonly<Record<string, CardSpec>>;

/** An element that becomes a block, with what is inside it. */
export type TagCard = TagSpec & CardSpec;

/**
 * Fetches the data of cards by their ids, in one call for all of one name. An
 * id that it leaves out does not exist. `signal` ends with the time that the
 * data may take.
 */
export type Resolve = (
  name: string,
  ids: readonly string[],
  signal: AbortSignal,
) => Promise<Readonly<Record<string, unknown>>>;

/** What {@link MarkupBlocks} and {@link blocksFrom} are told. */
export interface MarkupOptions
  extends Pick<MarkupConfig, "maxBody" | "maxInfo" | "maxTag" | "maxId" | "holdback"> {
  /** Cards written as fences. */
  cards?: CardNames;
  /** Cards written as placeholders. */
  placeholders?: CardNames;
  /** Cards written as elements. */
  tags?: Readonly<Record<string, TagCard>>;
  lenient?: Lenient;
  resolve?: Resolve;
  /** How long `resolve` may take in milliseconds. 5,000. */
  timeout?: number;
  /** What the ids of blocks begin with. Two answers on one page need different ones. */
  prefix?: string;
}

/** The names of built-in types in card messages. */
const builtins = [
  "chart",
  "table",
  "metric",
  "code",
  "file",
  "image",
  "form",
  "card",
  "card_list",
  "steps",
  "confirm",
  "question",
  "query",
  "tree",
  "echarts_raw",
];

/**
 * The block type that a card's name stands for: `app.product_card` for
 * ProductCard, `acme.quote_card` for acme.QuoteCard, `chart` for Chart.
 */
export function typeOf(name: string): string {
  const dot = name.lastIndexOf(".");
  const short = name
    .slice(dot + 1)
    .replace(/([^A-Z_])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .toLowerCase();
  if (dot >= 0) return `${name.slice(0, dot)}.${short}`.replace(/^inlay\./, "");
  return builtins.includes(short) ? short : `app.${short}`;
}

/** What the user is told of a card that is none, in the words of the server's codes. */
const failures: Record<FallbackReason | "schema", ErrorInfo> = {
  bad_json: failure("SCHEMA_INVALID", "The data did not have the expected form."),
  not_object: failure("SCHEMA_INVALID", "The data did not have the expected form."),
  schema: failure("SCHEMA_INVALID", "The data did not have the expected form."),
  too_long: failure("PAYLOAD_TOO_LARGE", "The data is too large to be shown here."),
  unterminated: failure("INTERRUPTED", "It was interrupted before it was finished."),
};

function failure(code: string, message: string, retryable = false): ErrorInfo {
  return { code, message, retryable };
}

const missing = failure("NOT_FOUND", "The data does not exist.");
const stopped = failure("CANCELLED", "It was stopped.", true);

/** The data of cards, fetched once for each name and id. */
export class Hydrator {
  readonly #known = new Map<string, Promise<unknown>>();
  #waiting = new Map<string, { id: string; settle(data: unknown, error?: ErrorInfo): void }[]>();
  readonly #running = new Set<AbortController>();

  constructor(
    readonly resolve: Resolve,
    readonly timeout = 5000,
  ) {}

  /** The data, or an error with an `info` that tells people. */
  get(name: string, id: string): Promise<unknown> {
    const key = `${name}\n${id}`;
    let data = this.#known.get(key);
    if (!data) {
      data = new Promise((done, fail) => {
        const settle = (value: unknown, error?: ErrorInfo) =>
          error ? fail(new HydrationError(error)) : done(value);
        const list = this.#waiting.get(name);
        if (list) list.push({ id, settle });
        else {
          if (this.#waiting.size === 0) queueMicrotask(() => this.#flush());
          this.#waiting.set(name, [{ id, settle }]);
        }
      });
      this.#known.set(key, data);
      // What failed is fetched anew when it is asked for again.
      data.catch(() => this.#known.delete(key));
    }
    return data;
  }

  /** Stops what is being fetched, or about to be. */
  stop(): void {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    for (const { settle } of [...waiting.values()].flat()) settle(undefined, stopped);
    for (const controller of this.#running) controller.abort();
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    for (const [name, list] of waiting) {
      const controller = new AbortController();
      this.#running.add(controller);
      let open = true;
      const end = (each: (id: string) => [unknown, ErrorInfo?]) => {
        if (!open) return;
        open = false;
        clearTimeout(timer);
        this.#running.delete(controller);
        for (const { id, settle } of list) settle(...each(id));
      };
      const failed = (error: ErrorInfo) => end(() => [undefined, error]);
      const timer = setTimeout(() => {
        failed(failure("HYDRATE_TIMEOUT", "The content did not load in time.", true));
        controller.abort();
      }, this.timeout);
      controller.signal.addEventListener("abort", () => failed(stopped));
      const broken = () =>
        failed(failure("DATA_FETCH_FAILED", "The data could not be fetched.", true));
      Promise.resolve()
        .then(() =>
          this.resolve(
            name,
            list.map(({ id }) => id),
            controller.signal,
          ),
        )
        .then(
          (found) =>
            end((id) =>
              isObject(found) && Object.hasOwn(found, id) && (found[id] ?? null) !== null
                ? [found[id]]
                : [undefined, missing],
            ),
          broken,
        )
        .catch(broken);
    }
  }
}

/** Why the data of a card is not there. */
class HydrationError extends Error {
  constructor(readonly info: ErrorInfo) {
    super(info.message);
  }
}

/** What becomes of an element: its attributes, its body as `text`, the elements inside as `children`. */
type Element = Record<string, unknown>;

/** A block that is not finished. */
interface Open {
  /** Its block, at top level. */
  block?: string;
  syntax: Syntax;
  name: string;
  spec: CardSpec;
  /** The version behind the name of a fence. */
  version?: string;
  /** The body of a fence, of which some is the server's, as it was written. */
  body?: string;
  /** The body of a fence as far as it came, where it is shown. */
  json?: JSONStream;
  draft?: unknown;
  element?: Element;
}

/** How a block was written. */
export interface Origin {
  syntax: Syntax;
  name: string;
  meta: Readonly<Record<string, string>>;
}

/**
 * The blocks of a text that is still being written, the same as a server makes
 * of it: texts, and cards in their places. Blocks are never changed; one that
 * did not change is the same object as before.
 */
export class MarkupBlocks {
  readonly #blocks: Block[] = [];
  /** What was read of them last. */
  #seen: readonly Block[] | null = null;
  readonly #origins = new Map<string, Origin>();
  readonly #index = new Map<string, number>();
  readonly #open = new Map<number, Open>();
  readonly #scanner: Scanner;
  readonly #options: MarkupOptions;
  readonly #hydrator: Hydrator | undefined;
  readonly #changed: (() => void) | undefined;
  /** What is being fetched, to be fetched again. */
  readonly #asked = new Map<
    string,
    { open: Open; about: readonly Element[]; written: Element; pending: boolean }
  >();
  #pending = 0;
  #count = 0;
  /** The text that is open, and white space that may begin one. */
  #text = "";
  #space = "";

  /**
   * `changed` is called when data came that `resolve` fetched. A `hydrator` is
   * shared by what shows the same cards.
   */
  constructor(options: MarkupOptions, changed?: () => void, hydrator?: Hydrator) {
    this.#options = options;
    this.#changed = changed;
    if (hydrator) this.#hydrator = hydrator;
    else if (options.resolve) this.#hydrator = new Hydrator(options.resolve, options.timeout);
    this.#scanner = new Scanner(configOf(options), (event) => this.#take(event));
  }

  /** The blocks as they stand. */
  get blocks(): readonly Block[] {
    this.#seen ??= this.#blocks.slice();
    return this.#seen;
  }

  /** How a block was written; undefined for text. */
  origin(id: string): Origin | undefined {
    return this.#origins.get(id);
  }

  /** Data of a card is still being fetched. */
  get pending(): boolean {
    return this.#pending > 0;
  }

  /** Takes the next piece of the text. */
  push(piece: string | Uint8Array): void {
    this.#scanner.push(piece);
  }

  /** Says that the text is over. What is open then is finished, or shown as it was written. */
  close(reason: EndReason = "stop"): void {
    this.#scanner.close(reason);
    this.#endText();
  }

  /** Fetches a card's data again. */
  retry(id: string): void {
    const asked = this.#asked.get(id);
    const block = this.#at(id);
    if (!asked || !block || block.status !== "error" || asked.pending) return;
    const { error: _, ...rest } = block;
    this.#put({ ...rest, status: "loading" });
    this.#fetch(id, asked.open, asked.about, asked.written);
  }

  /** Stops what is being fetched. Its cards fail, and may be tried again. */
  stop(): void {
    this.#hydrator?.stop();
  }

  #take(event: MarkupEvent): void {
    switch (event.kind) {
      case "text":
        this.#addText(event.text);
        return;
      case "start":
        this.#start(event);
        return;
      case "delta": {
        const open = this.#open.get(event.id);
        if (open?.body !== undefined) open.body += event.text;
        if (open?.json && open.block) this.#stream(open, open.json, open.block, event.text);
        return;
      }
      case "end": {
        const open = this.#open.get(event.id);
        this.#open.delete(event.id);
        if (!open) return;
        if (open.element && event.text?.trim()) put(open.element, "text", event.text);
        if (open.block) this.#end(open, open.block, event.payload ?? open.element, event.source);
        return;
      }
      case "fallback": {
        const open = this.#open.get(event.id);
        this.#open.delete(event.id);
        if (open?.block) this.#fail(open.block, failures[event.reason], event.text);
        // An element inside another that was cut off keeps what came of it.
        else if (open?.element) put(open.element, "text", event.text);
      }
    }
  }

  #addText(more: string): void {
    if (!this.#text) {
      this.#space += more;
      if (!/\S/.test(more)) return;
      more = this.#space;
      this.#space = "";
      this.#text = this.#id();
      this.#put({ ...fresh(this.#text, "text", 1), payload: more });
      return;
    }
    const block = this.#at(this.#text);
    if (block) this.#put({ ...block, payload: `${block.payload}${more}` });
  }

  #endText(): void {
    const block = this.#at(this.#text);
    if (block) this.#put({ ...block, status: "done" });
    this.#text = this.#space = "";
  }

  #start(event: MarkupEvent & { kind: "start" }): void {
    const { id, parent, syntax, type: name, meta } = event;
    const element = syntax === "tag" ? { ...meta } : undefined;
    if (parent) {
      const above = this.#open.get(parent)?.element;
      if (above && element) {
        const inside = { ...element, tag: name };
        const list = above.children;
        if (Array.isArray(list)) list.push(inside);
        else put(above, "children", [inside]);
        this.#open.set(id, { syntax, name, spec: {}, element: inside });
      }
      return;
    }
    this.#endText();
    const spec = specOf(this.#options, syntax, name);
    const block = this.#id();
    const [major, minor] = versionOf(syntax === "fence" ? meta?.version : undefined);
    const made: Block = {
      ...fresh(block, spec.type ?? typeOf(name), major),
      meta: { producer: "markup" },
    };
    if (made.meta && meta?.title) made.meta.title = meta.title;
    if (made.meta && minor > 0) made.meta.schemaMinor = minor;
    if (made.meta && spec.estimatedHeight) made.meta.estimatedHeight = spec.estimatedHeight;
    const open: Open = { block, syntax, name, spec, element };
    if (syntax === "fence") open.version = meta?.version;
    this.#origins.set(block, { syntax, name, meta: meta ?? {} });
    if (syntax === "fence" && spec.streaming) open.json = new JSONStream();
    if (syntax === "fence" && spec.serverFields) open.body = "";
    if (syntax === "placeholder") open.element = { id: meta?.id ?? "" };
    this.#open.set(id, open);
    this.#put(made);
  }

  #stream(open: Open, json: JSONStream, id: string, text: string): void {
    const block = this.#at(id);
    if (!block) return;
    let ops: readonly PatchOperation[];
    try {
      ops = json.push(text);
    } catch (error) {
      // Whether it is a card after all, its end tells.
      delete open.json;
      ops = error instanceof JSONStreamError ? error.operations : [];
    }
    if (ops.length === 0) return;
    try {
      open.draft = applyPatch(open.draft, ops);
    } catch {
      delete open.json;
      return;
    }
    if (!isObject(open.draft)) return;
    const read = readBody(open.draft, open.name, open.version);
    if (!read) return;
    // The version may stand behind the fields.
    const fields = fieldsOf(open.spec, open.version ? block.version : undefined);
    const payload = dropped(read.fields, fields);
    this.#put({ ...block, payload });
  }

  #end(open: Open, id: string, payload: unknown, source: string): void {
    const { spec } = open;
    let block = this.#at(id);
    if (!block) return;
    if (isDeep(payload, maxDepth)) {
      this.#fail(id, failures.schema, spec.serverFields ? fenced(open.name, 1, {}) : source);
      return;
    }
    if (Array.isArray(payload)) {
      for (const [i, one] of payload.entries()) {
        const next = i === 0 ? id : this.#id();
        if (i > 0) this.#put({ ...fresh(next, block.type, block.version), meta: block.meta });
        // Each has words of its own.
        this.#end({ ...open, block: next }, next, one, fenced(open.name, block.version, one));
      }
      return;
    }
    const read =
      open.syntax === "fence" ? readBody(payload, open.name, open.version) : { fields: payload };
    const all = fieldsOf(spec);
    if (!read) {
      if (all.length > 0) {
        const words = unnamed(dropped(payload, all), namesIn(all));
        const other = JSON.stringify(words) !== JSON.stringify(payload) || isOdd(open.body);
        if (other) source = fenced(open.name, 1, words);
      }
      this.#fail(id, failures.schema, source);
      return;
    }
    const body = read.fields;
    if (read.version) block = this.#version(block, read.version);
    const fields = fieldsOf(spec, block.version);
    const left = dropped(body, fields);
    const written = isObject(left) ? left : {};
    if (all.length > 0) {
      // What is not the model's to say is not shown in words either.
      const words = unnamed(dropped(written, all), namesIn(all));
      const other = JSON.stringify(words) !== JSON.stringify(body) || isOdd(open.body);
      if (other) source = fenced(open.name, block.version, words);
    }
    const whole = open.syntax === "placeholder" || all.length > 0;
    const partial = whole || (open.syntax === "fence" && isPartial(written));
    const about = this.#hydrator && partial ? namedIn(written, fields) : [];
    if (about.some((one) => idOf(one))) {
      this.#put({ ...block, payload: written, fallback: source });
      this.#fetch(id, open, about, written);
      return;
    }
    this.#finish(id, spec, written, source);
  }

  /** Puts a block into the version that its body names. */
  #version(block: Block, [version, minor]: readonly [number, number]): Block {
    const { schemaMinor: _, ...meta } = block.meta ?? {};
    const next: Block = {
      ...block,
      version,
      meta: minor > 0 ? { ...meta, schemaMinor: minor } : meta,
    };
    this.#put(next);
    return next;
  }

  /** Lays what is said of some objects of a card, by their ids, over what was written. */
  #fetch(id: string, open: Open, about: readonly Element[], written: Element): void {
    const asked = { open, about, written, pending: true };
    this.#asked.set(id, asked);
    this.#pending++;
    const settled = (change: (block: Block) => void) => {
      asked.pending = false;
      this.#pending--;
      const block = this.#at(id);
      if (block) change(block);
      if (this.#changed) tell(this.#changed);
    };
    const found = new Map<string, unknown>();
    const calls = [...new Set(about.map(idOf))].filter(Boolean).map((key) =>
      this.#hydrator?.get(open.name, key).then(
        (data) => void found.set(key, data),
        (error: unknown) => {
          if (!(error instanceof HydrationError) || error.info !== missing) throw error;
        },
      ),
    );
    Promise.all(calls).then(
      () =>
        settled((block) => {
          const filled = fill(written, about, found);
          if (filled) this.#finish(id, open.spec, filled, block.fallback ?? "");
          else if (filled === null) this.#put({ ...block, status: "error", error: missing });
          else this.#fail(id, failures.schema, block.fallback ?? "");
        }),
      (error: unknown) =>
        settled((block) => {
          const info = error instanceof HydrationError ? error.info : failures.schema;
          this.#put({ ...block, status: "error", error: info });
        }),
    );
  }

  #finish(id: string, spec: CardSpec, payload: unknown, source: string): void {
    const block = this.#at(id);
    if (!block) return;
    let problem: string | null;
    let fallback = source;
    try {
      problem = spec.check?.(payload) ?? null;
      if (problem === null) fallback = spec.fallback?.(payload) ?? source;
    } catch (error) {
      problem = String(error);
    }
    if (problem !== null) this.#fail(id, failures.schema, source);
    else this.#put({ ...block, status: "done", payload, fallback });
  }

  /** What was no card after all is shown as it was written. */
  #fail(id: string, error: ErrorInfo, source: string): void {
    const block = this.#at(id);
    if (!block) return;
    const { payload: _, ...rest } = block;
    this.#put({ ...rest, status: "error", error, fallback: source });
  }

  #id(): string {
    this.#count++;
    return `${this.#options.prefix ?? "b_"}${this.#count}`;
  }

  #at(id: string): Block | undefined {
    const at = this.#index.get(id);
    return at === undefined ? undefined : this.#blocks[at];
  }

  #put(block: Block): void {
    const at = this.#index.get(block.id);
    this.#seen = null;
    if (at === undefined) {
      this.#index.set(block.id, this.#blocks.length);
      this.#blocks.push(block);
    } else this.#blocks[at] = block;
  }
}

/** What text comes as: a body, or any pieces. */
export type TextSource =
  | ReadableStream<string | Uint8Array>
  | AsyncIterable<string | Uint8Array>
  | Iterable<string | Uint8Array>;

/**
 * The blocks of a text that is still being written: yields all of them whenever
 * they changed, and ends when the text is over and all data is there. Needs no
 * server of ours. When the source fails, what came is given before the error.
 */
export async function* blocksFrom(
  source: TextSource,
  options: MarkupOptions,
): AsyncGenerator<readonly Block[], void, undefined> {
  let wake = () => {};
  const made = new MarkupBlocks(options, () => wake());
  const { next, stop } = piecesOf(source);
  let reading: Promise<IteratorResult<string | Uint8Array>> | null = null;
  let seen = made.blocks;
  let failed: { error: unknown } | null = null;
  let over = false;
  let ended = false;
  try {
    for (;;) {
      const changed = new Promise<null>((resolve) => {
        wake = () => resolve(null);
      });
      if (made.blocks !== seen) {
        seen = made.blocks;
        yield seen;
        continue;
      }
      if (over && !made.pending) {
        if (failed) throw failed.error;
        return;
      }
      if (!over) reading ??= next();
      try {
        const result: IteratorResult<string | Uint8Array> | null = await (reading && !over
          ? Promise.race([reading, changed])
          : changed);
        if (!result) continue;
        reading = null;
        over = ended = result.done === true;
        if (result.done) made.close();
        else made.push(result.value);
      } catch (error) {
        failed = { error };
        over = true;
        made.close("abort");
        made.stop();
      }
    }
  } finally {
    made.stop();
    if (!ended) stop();
  }
}

interface Pieces {
  next(): Promise<IteratorResult<string | Uint8Array>>;
  /** Nothing more is wanted. */
  stop(): void;
}

function piecesOf(source: TextSource): Pieces {
  if (typeof source === "string") return piecesOf([source]);
  if ("getReader" in source) {
    const reader = source.getReader();
    return {
      next: async () => {
        const { done, value } = await reader.read();
        return done ? { done, value: undefined } : { done, value };
      },
      stop: () => void reader.cancel().catch(() => {}),
    };
  }
  const iterator =
    Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  return {
    next: async () => iterator.next(),
    stop: () => void Promise.resolve(iterator.return?.()).catch(() => {}),
  };
}

function configOf(options: MarkupOptions): MarkupConfig {
  const { cards, placeholders, tags, holdback, ...rest } = options;
  return {
    maxBody: rest.maxBody,
    maxInfo: rest.maxInfo,
    maxTag: rest.maxTag,
    maxId: rest.maxId,
    lenient: rest.lenient,
    fences: namesOf(cards),
    placeholders: namesOf(placeholders),
    tags,
    holdback: holdback ?? 256,
  };
}

function namesOf(names: CardNames | undefined): readonly string[] | undefined {
  return names && (isList(names) ? names : Object.keys(names));
}

function isList(names: unknown): names is readonly string[] {
  return Array.isArray(names);
}

/** What is known of a card. */
export function specOf(options: MarkupOptions, syntax: Syntax, name: string): CardSpec {
  const { cards, placeholders, tags } = options;
  const names = syntax === "fence" ? cards : syntax === "placeholder" ? placeholders : tags;
  if (!names || isList(names) || !Object.hasOwn(names, name)) return {};
  return names[name] ?? {};
}

/** The parts of `major.minor`; null for what is no version. */
function readVersion(version: string): [major: number, minor: number] | null {
  const [, major, minor] = /^(\d{1,6})(?:\.(\d{1,6}))?(?:\.\d{1,6})?$/.exec(version) ?? [];
  return Number(major) > 0 ? [Number(major), Number(minor ?? 0)] : null;
}

/** The parts of `major.minor`; 1.0 where there is none. */
export function versionOf(version: string | undefined): [major: number, minor: number] {
  return readVersion(version ?? "") ?? [1, 0];
}

function fresh(id: string, type: string, version: number): Block {
  return { id, type, version, status: "loading", rev: 1 };
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A card that says which one it is and nothing else. */
export function isPartial(payload: unknown): boolean {
  return isObject(payload) && Object.keys(payload).length === 1 && idOf(payload) !== "";
}

/** The id of an object as it is asked for, which placeholders can have too; "" for none. */
function idOf({ id }: Element): string {
  const text = typeof id === "number" ? `${id}` : id;
  if (typeof text !== "string" || /\p{Cc}/u.test(text)) return "";
  return new TextEncoder().encode(text).length > 128 ? "" : text;
}

/** The objects that more is said of by their ids: the card, and those of which fields are the server's. */
function namedIn(card: Element, fields: readonly string[]): readonly Element[] {
  const out = new Set([card]);
  const walk = (value: unknown, [token, ...rest]: readonly string[]): void => {
    if (token === undefined) {
      if (isObject(value)) out.add(value);
    } else if (Array.isArray(value)) {
      if (token === "*") for (const one of value) walk(one, rest);
    } else if (isObject(value) && Object.hasOwn(value, unescaped(token))) {
      walk(value[unescaped(token)], rest);
    }
  };
  for (const pointer of fields) walk(card, pointer.split("/").slice(1, -1));
  return [...out];
}

/**
 * A card with what was found of its objects. Those in a list that do not exist
 * are left out. Null: it does not exist itself, or nothing is left of it;
 * undefined: what was found is no object.
 */
function fill(
  card: Element,
  about: readonly Element[],
  found: ReadonlyMap<string, unknown>,
): Element | null | undefined {
  const at = new Map(about.map((one) => [one, idOf(one)]));
  const gone = new Set<unknown>(about.filter((one) => at.get(one) && !found.has(idOf(one))));
  const left = about.some((one) => !gone.has(one) && (one !== card || at.get(one)));
  if (gone.has(card) || (gone.size > 0 && !left)) return null;
  if ([...found.values()].some((data) => !isObject(data))) return undefined;
  const laid = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.filter((one) => !gone.has(one)).map(laid);
    if (!isObject(value)) return value;
    const own = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, laid(one)]));
    const data = found.get(at.get(value) ?? "");
    return isObject(data) ? { ...own, ...data } : own;
  };
  const filled = laid(card);
  return isObject(filled) ? filled : undefined;
}

/** The members that may stand around the fields of a card, as the server reads them. */
const around = ["type", "schemaVersion", "version", "data", "actions"];

/** What a body says: its fields, and its version if it names one. */
interface Body {
  fields: unknown;
  version?: readonly [major: number, minor: number];
}

/**
 * Takes the fields of a card out of what may stand around them: `{type,
 * schemaVersion, data}`, or the `ui` of a tool's answer, `{type, version, data}`.
 * The version behind the name in the fence wins over `schemaVersion`, and that
 * over `version`, which beside the fields is one of them. Null for what is no card.
 */
function readBody(payload: unknown, name: string, named: string | undefined): Body | null {
  if (named !== undefined && !readVersion(named)) return null;
  if (!isObject(payload)) return { fields: payload };
  const { schemaVersion, ...beside } = payload;
  const member = "schemaVersion" in payload ? "schemaVersion" : "version";
  const wrapped =
    isObject(payload.data) &&
    Object.keys(payload).every((key) => around.includes(key)) &&
    (member in payload || payload.type === name);
  if (wrapped && typeof payload.type === "string" && payload.type !== name) return null;
  const fields = wrapped ? payload.data : beside;
  if (named !== undefined || !(wrapped ? member in payload : "schemaVersion" in payload)) {
    return { fields };
  }
  const own = wrapped ? payload[member] : schemaVersion;
  if (own === "") return { fields };
  const version = typeof own === "string" || typeof own === "number" ? readVersion(`${own}`) : null;
  return version ? { fields, version } : null;
}

/** The fields of a version that are the server's; of all where it is not known. */
function fieldsOf({ serverFields = [] }: CardSpec, major?: number): readonly string[] {
  if (isList(serverFields)) return serverFields;
  const own = Object.entries(serverFields).find(([version]) => version === String(major));
  return own?.[1] ?? Object.values(serverFields).flat();
}

const unescaped = (token: string) => token.replace(/~1/g, "/").replace(/~0/g, "~");

/** What the members are called that pointers lead to. */
function namesIn(fields: readonly string[]): ReadonlySet<string> {
  const last = fields.map((pointer) => pointer.slice(pointer.lastIndexOf("/") + 1));
  return new Set(last.filter((token) => token !== "*").map(unescaped));
}

/** A payload without what is not the model's to say, also where it stands in `data`. */
function dropped(payload: unknown, fields: readonly string[]): unknown {
  let result = payload;
  for (const pointer of fields) result = without(result, pointer.split("/").slice(1));
  if (fields.length === 0 || !isObject(result) || !Object.hasOwn(result, "data")) return result;
  return { ...result, data: dropped(result.data, fields) };
}

function without(value: unknown, path: readonly string[]): unknown {
  const [token, ...rest] = path;
  if (token === undefined) return value;
  const last = rest.length === 0;
  if (Array.isArray(value)) {
    if (token !== "*") return value.map((one) => without(one, path));
    return last ? [] : value.map((one) => without(one, rest));
  }
  if (!isObject(value)) return value;
  if (token === "*") {
    // One item in place of the list, or items by name.
    const entries = last ? [] : Object.entries(value);
    const each = Object.fromEntries(entries.map(([key, one]) => [key, without(one, rest)]));
    return without(each, rest);
  }
  const key = unescaped(token);
  if (!Object.hasOwn(value, key)) return value;
  const copy = { ...value };
  if (last) delete copy[key];
  else put(copy, key, without(value[key], rest));
  return copy;
}

/** A value without members of some names, wherever they stand. */
function unnamed(value: unknown, names: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((one) => unnamed(one, names));
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key]) => !names.has(key));
  return Object.fromEntries(kept.map(([key, one]) => [key, unnamed(one, names)]));
}

/** Whether readers might take a body differently: a member stands in it twice. */
function isOdd(body: string | undefined): boolean {
  try {
    if (body) new JSONStream().push(body);
    return false;
  } catch {
    return true;
  }
}

function isDeep(value: unknown, left: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return left === 0 || Object.values(value).some((one) => isDeep(one, left - 1));
}

/** A card as a model would have written it. */
function fenced(name: string, version: number, payload: unknown): string {
  const head = version === 1 ? name : `${name}@${version}`;
  return `\`\`\`${head}\n${JSON.stringify(payload, null, 2)}\n\`\`\`\n`;
}

/**
 * Calls a listener. What it throws is reported as that of an event's would be,
 * and keeps nobody else from going on.
 */
export function tell(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    if (typeof reportError === "function") reportError(error);
    else
      queueMicrotask(() => {
        throw error;
      });
  }
}

/** A way in which text can hold a card. */
export type Syntax = "fence" | "placeholder" | "tag";

/** Why what began as a card is none. */
export type FallbackReason =
  /** The body of a fence is not JSON. */
  | "bad_json"
  /** The body of a fence is JSON but no object. */
  | "not_object"
  /** The body outgrew the limit. */
  | "too_long"
  /** The text, or what the card stands in, ended before it. */
  | "unterminated";

/** Why a text ended: its writer was done, was cut off at a limit, or was stopped. */
export type EndReason = "stop" | "length" | "abort";

/**
 * One thing that a {@link Scanner} found, in the order of the text. A block has
 * one `start`, any number of `delta` and then one `end` or one `fallback`.
 */
export type MarkupEvent =
  /** Text that is no card. */
  | { kind: "text"; text: string }
  | {
      kind: "start";
      /** Counts the blocks of a text from 1. */
      id: number;
      /** The tag that it stands in; absent at top level. */
      parent?: number;
      syntax: Syntax;
      /** The registered name as written. */
      type: string;
      /** Attributes; `version`, `info` and, of a placeholder, `id` are set by the scanner. */
      meta?: Record<string, string>;
    }
  /** The next piece of an open block's body. */
  | { kind: "delta"; id: number; parent?: number; text: string }
  | {
      kind: "end";
      id: number;
      parent?: number;
      /** The object in a fence. */
      payload?: unknown;
      /** The body of a tag, what is inside its children left out. */
      text?: string;
      /** Everything from the opening to the end of the closing, as it stood in the text. */
      source: string;
      /** It is whole, but its closing mark never came. */
      unclosed?: true;
    }
  /** The block is none after all; `text` is its source, to be shown in its place. */
  | { kind: "fallback"; id: number; parent?: number; reason: FallbackReason; text: string };

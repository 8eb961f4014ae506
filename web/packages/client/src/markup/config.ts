/** Which syntaxes and names a {@link Scanner} recognises, and its limits in bytes of UTF-8. */
export interface MarkupConfig {
  /** Names that make a code fence a card; absent: no fence is one. */
  fences?: readonly string[];
  /** Names before the identifier of a placeholder; absent: there are none. */
  placeholders?: readonly string[];
  /** Elements at top level; absent: there are none. */
  tags?: Readonly<Record<string, TagSpec>>;
  /** Of the body of a fence, and of what is inside a tag at top level. 64 KiB. */
  maxBody?: number;
  /** Of the info string of a fence. 1 KiB. */
  maxInfo?: number;
  /** Of an opening or closing tag. 4 KiB. */
  maxTag?: number;
  /** Of the identifier of a placeholder. 128 bytes. */
  maxId?: number;
  /**
   * How much text, from a placeholder on, may wait for the answer to whether the
   * backtick before it begins a code span. 0: such a placeholder is text.
   */
  holdback?: number;
  /** What models are known to write wrongly and is accepted nevertheless. */
  lenient?: Lenient;
}

/** A registered element. */
export interface TagSpec {
  /** The elements that are recognised directly inside. */
  children?: Readonly<Record<string, TagSpec>>;
  /** Everything up to the exact closing tag is the body; there are no children then. */
  raw?: boolean;
}

/** Deviations from CommonMark and from the card format, all off by default. */
export interface Lenient {
  /** A fence may end on the line on which its object does. */
  closeInline?: boolean;
  /** A fence may begin within a line of text. */
  openInline?: boolean;
  /** The body of a fence may be an array of objects, which is the payload then. */
  fenceAsObjectArray?: boolean;
}

/** The limits where a config names none. */
export const limits = { maxBody: 65_536, maxInfo: 1024, maxTag: 4096, maxId: 128 } as const;

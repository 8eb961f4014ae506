import type { Block, Message } from "@inlay-ui/client";
import type { Lang } from "../i18n/index.ts";
import picture from "./samples/hills.png?url";

/** A text in each language of the page. */
export type Words = Record<Lang, string>;

/** A file of vectors: one block type in its states. */
export interface Vectors {
  name: string;
  type: string;
  version: number;
  cases: { name: string; title?: Partial<Words>; block: Block }[];
}

/** One entry of the gallery. */
export interface Case {
  /** Unique in the gallery; names the case in addresses and in the document. */
  id: string;
  name: string;
  title?: Partial<Words> | undefined;
  message: Message;
  /** Drawn with what the page puts around a message, and not as its block alone. */
  turn: boolean;
}

/** The cases of one block type, or of the messages' frame. */
export interface Group {
  type: string;
  cases: Case[];
}

/** The conversation that all cases are messages of. */
export const conversationId = "gallery";

/** Time at which everything in the gallery happened. */
export const madeAt = "2026-03-02T09:30:00Z";

/** A name as a part of an id. */
function idPart(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]+/g, "-");
}

/** A finished answer, with changes. */
export function answer(id: string, change: Partial<Message>): Message {
  return {
    id: `m_${id}`,
    conversationId,
    role: "assistant",
    createdAt: madeAt,
    status: "done",
    blocks: [],
    seq: 1,
    siblings: [`m_${id}`],
    ...change,
  };
}

/** The cases of the vectors by type: each block in a message of its own, under an id of its own. */
export function groupsOf(files: readonly Vectors[]): Group[] {
  const groups = new Map<string, Case[]>();
  const ids = new Set<string>();
  for (const { type, cases } of files) {
    const group = groups.get(type) ?? [];
    groups.set(type, group);
    for (const { name, title, block } of cases) {
      const plain = `${idPart(type)}-${idPart(name)}`;
      let id = plain;
      for (let n = 2; ids.has(id); n++) id = `${plain}-${n}`;
      ids.add(id);
      const message = answer(id, { blocks: [{ ...pictured(lasting(block)), id: `b_${id}` }] });
      group.push({ id, name, title, message, turn: false });
    }
  }
  return [...groups]
    .map(([type, cases]) => ({ type, cases }))
    .sort((a, b) => order(a.type) - order(b.type) || a.type.localeCompare(b.type));
}

const dayMs = 86_400_000;

/** A block whose question does not run out while it is looked at, unless it is over anyway. */
function lasting(block: Block): Block {
  const { payload, state } = block;
  if (typeof payload !== "object" || payload === null || state) return block;
  if (!("expiresAt" in payload) || typeof payload.expiresAt !== "number") return block;
  return { ...block, payload: { ...payload, expiresAt: Date.now() + dayMs } };
}

/** Pictures of this host stand for those of a shop: the gallery's own one is shown. */
const pictures = "https://pictures.example.com/";

/** A block whose picture is there without a network. */
function pictured(block: Block): Block {
  const { payload } = block;
  if (typeof payload !== "object" || payload === null || !("imageUrl" in payload)) return block;
  if (!String(payload.imageUrl).startsWith(pictures)) return block;
  return {
    ...block,
    payload: { ...payload, imageUrl: new URL(picture, document.baseURI).pathname },
  };
}

/** Types from the plain to the special, as documentation lists them. */
const known = [
  "text",
  "chart",
  "table",
  "metric",
  "code",
  "query",
  "file",
  "image",
  "card",
  "card_list",
  "app.product_card",
  "app.product_list",
  "app.train_card",
  "app.flight_card",
  "app.hotel_card",
  "form",
  "confirm",
  "question",
  "steps",
  "tree",
  "minara.feature_recommendation",
  "echarts_raw",
];

function order(type: string): number {
  const at = known.indexOf(type);
  return at < 0 ? known.length : at;
}

/** The vectors of this repository, which the server is tested with too. */
export function vectors(): Vectors[] {
  return Object.values(
    import.meta.glob<Vectors>(
      ["../../../../testdata/gallery/*.json", "../../../../testdata/gallery/cards/*.json"],
      { eager: true, import: "default" },
    ),
  );
}

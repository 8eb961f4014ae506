/** The life of a block; a loading block is shown as a skeleton. */
export type BlockStatus = "loading" | "done" | "error";

/** Why a block, or a whole message, could not be completed. */
export interface ErrorInfo {
  code: string;
  message: string;
  retryable: boolean;
}

/** What a client may need before or beside a block's payload. Times are epoch milliseconds. */
export interface BlockMeta {
  title?: string;
  /** Height in CSS pixels that the drawn body will take. */
  estimatedHeight?: number;
  position?: "after_text" | "inline" | "before_text";
  /** Where the data came from, for people. */
  source?: string;
  /** Who made a block that no tool was asked for. */
  producer?: "model" | "recommender" | "markup" | "connector" | (string & {});
  toolCallId?: string;
  tool?: string;
  fetchedAt?: number;
  refreshedAt?: number;
  /** The server can load this block's data again. */
  canRefresh?: boolean;
  schemaMinor?: number;
  /** The payload was cut for this reader. */
  truncated?: boolean;
  vendor?: Record<string, unknown>;
}

/** Where an action goes: a server handler, a user message, a web page, or the client itself. */
export type ActionKind = "api" | "prompt" | "link" | "local";

/** Something a person can do with a block. */
export interface Action {
  id: string;
  label: string;
  kind: ActionKind;
  /** The registered name of what it does; the id when absent. */
  action?: string;
  style?: "primary" | "default" | "danger";
  prompt?: string;
  href?: string;
  /** What the person is asked before it is done. */
  confirm?: string;
  params?: Record<string, unknown>;
  inputSchema?: unknown;
  feedback?: { successText?: string; failureToast?: string };
  /** The block's state, or its `status`, in which it cannot be done. */
  disabledWhen?: string;
}

/** The state of a block that was acted on, as the server writes it. Others may have their own. */
export interface ActionState {
  status:
    | "submitting"
    | "done"
    | "failed"
    | "unknown"
    | "answered"
    | "expired"
    | "cancelled"
    | (string & {});
  /** Nothing more can be done with the block. */
  locked?: boolean;
  actionId?: string;
  /** Of a question: approve, reject, edit or answer. */
  answer?: string;
  /** Epoch milliseconds. */
  at?: number;
  /** What was sent, without what must not be shown. */
  values?: unknown;
  result?: unknown;
  /** What came of it, for people. */
  text?: string;
  callId?: string;
}

/** One part of a message. The payload has the shape of its type's schema; text is a string. */
export interface Block<P = unknown> {
  id: string;
  /** `[namespace.]name`; built-in types have no namespace. */
  type: string;
  version: number;
  status: BlockStatus;
  rev: number;
  payload?: P;
  fallback?: string;
  actions?: Action[];
  state?: unknown;
  meta?: BlockMeta;
  error?: ErrorInfo;
}

/** The life of a message. */
export type MessageStatus = "running" | "done" | "error" | "cancelled" | "paused";

/** Why a turn ended; other words may come from later servers. */
export type FinishReason =
  | "stop"
  | "length"
  | "cancelled"
  | "max_steps"
  | "paused"
  | "content_filter"
  | (string & {});

/** Tokens counted for a turn. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  costUsd?: number;
}

/** Who answers. */
export interface ModelInfo {
  kind: string;
  name: string;
}

/** A tool call as the stream announces it; arguments and results are never part of it. */
export interface ToolActivity {
  id: string;
  name: string;
  title?: string;
  status: "running" | "ok" | "error" | "cancelled";
  durationMs?: number;
  /** The call was made by another tool. */
  sub?: boolean;
  /** The client runs the call: it runs on while the turn is paused. */
  client?: boolean;
}

/** One message of a conversation: a user's, or an assistant's with its blocks. */
export interface Message {
  id: string;
  conversationId: string;
  role: "user" | "assistant";
  parentId?: string;
  /** RFC 3339; empty while unknown. */
  createdAt: string;
  status: MessageStatus;
  blocks: Block[];
  /** The number of the last event that is part of this state. */
  seq: number;
  finishReason?: FinishReason;
  usage?: Usage;
  error?: ErrorInfo;
  model?: ModelInfo;
  /** The alternatives at this place, itself included, oldest first. */
  siblings: string[];
  /** What the model thought, where the server sends it. */
  reasoning?: string;
  /** Tool calls in the order they began. */
  tools?: ToolActivity[];
  /** What the reader thinks of it. */
  feedback?: Feedback;
  /** The answer is complete although the message still runs. Set by whoever follows its events. */
  answered?: boolean;
  /** Blocks as they were before a retry or refresh that still runs. */
  before?: Record<string, Block>;
}

/** A thumb. */
export type Rating = "up" | "down";

/** What a reader thinks of an answer. */
export interface Feedback {
  rating?: Rating | null;
  comment?: string;
}

/** One conversation in the list. Times are RFC 3339. */
export interface Conversation {
  id: string;
  title: string;
  createdAt: string;
  updatedAt: string;
  /** The assistant message that is being written, if any. */
  running?: string;
  leaf?: string;
}

/** One RFC 6902 operation. */
export type PatchOperation =
  | { op: "add" | "replace" | "test"; path: string; value: unknown }
  | { op: "remove"; path: string }
  | { op: "move" | "copy"; path: string; from: string };

/** The data of each event, by the event's name. */
export interface EventData {
  start: {
    conversationId: string;
    ts: number;
    supported_blocks?: { namespace: string; block_type: string; version: number }[];
    rejected_capabilities?: unknown[];
    userMessageId?: string;
    model?: ModelInfo;
  };
  text_delta: { delta: string };
  text_end: Record<string, never>;
  reasoning_delta: { delta: string };
  block_start: { type: string; version: number; meta?: BlockMeta };
  block_delta: { patch: PatchOperation[] };
  block_end: {
    type: string;
    version: number;
    payload?: unknown;
    /** The payload is what the deltas built. */
    built?: boolean;
    digest?: string;
    fallback?: string;
    actions?: Action[];
    state?: unknown;
    meta?: BlockMeta;
  };
  block_error: ErrorInfo & { fallback?: string };
  block_state: { state: unknown; rev: number };
  tool_call_start: { toolCallId: string; name: string; title?: string; client?: boolean };
  tool_call_end: ToolEnd;
  sub_tool_start: { toolCallId: string; name: string; title?: string };
  sub_tool_end: ToolEnd;
  /** The client is to run the call; the arguments fit the schema that it gave. */
  client_tool_call: { toolCallId: string; name: string; arguments: unknown };
  /** What a tool has made of the application's state. */
  state: { state: unknown };
  pending_question_start: {
    questionId: string;
    prompt?: string;
    options?: unknown[];
    schema?: unknown;
    expiresAt?: number;
  };
  pending_question_end: { questionId: string; status: string };
  annotation: { kind: string; blockId?: string } & Record<string, unknown>;
  snapshot: { blocks: Block[]; seq: number; status: MessageStatus } & Pick<
    Message,
    "model" | "finishReason" | "usage" | "error" | "reasoning" | "tools"
  > & { conversationId?: string };
  done: { finishReason: FinishReason; usage?: Usage; model?: ModelInfo };
  error: ErrorInfo;
}

interface ToolEnd {
  toolCallId: string;
  name: string;
  status: "ok" | "error" | "cancelled";
  durationMs?: number;
  /** The client ran the call: the group goes on with the turn that was paused for it. */
  client?: boolean;
}

/** The name of an event. */
export type EventName = keyof EventData;

/** One event of a message's log as it arrives. */
export type Envelope<N extends EventName = EventName> = {
  [K in N]: {
    event: K;
    v?: number;
    msgId: string;
    blockId?: string;
    seq: number;
    /** 1 for the turn, then one more for each retry, refresh or action. */
    group?: number;
    /** Milliseconds since the start of the message. */
    at?: number;
    data: EventData[K];
  };
}[N];

/** The data of each event of a conversation's feed. */
export interface FeedData {
  message_created: { message: Message };
  turn_started: { msgId: string };
  message_updated: { msgId: string; seq: number; status: MessageStatus };
  conversation_updated: { conversation: Conversation };
  conversation_deleted: { id: string };
}

/** One change of a conversation, with the feed's own cursor. */
export type FeedEvent = {
  [K in keyof FeedData]: { event: K; cursor: number; data: FeedData[K] };
}[keyof FeedData];

/** The life of a file; only a ready one is served. */
export type AssetStatus = "pending" | "scanning" | "ready" | "infected" | "error";

/** A file that the server keeps. */
export interface Asset {
  id: string;
  name: string;
  /** What the bytes are, whatever the sender said. */
  mime: string;
  /** In bytes. */
  size: number;
  sha256?: string;
  status: AssetStatus;
  /** RFC 3339. */
  createdAt: string;
  /** As in the payload of a `file` block. */
  preview?: AssetPreview;
  width?: number;
  height?: number;
  pages?: number;
}

/** The address of a file's bytes; whoever has it can read them until it ends. */
export interface AssetUrl {
  url: string;
  /** Epoch milliseconds. */
  expiresAt: number;
  disposition: "inline" | "attachment";
}

/** What a file shows, or a part of it. */
export type AssetPreview =
  | { kind: "image"; width?: number; height?: number }
  | {
      kind: "table";
      rows: (string | number | boolean | null)[][];
      sheets?: string[];
      sheet?: string;
      /** The number of the first row. */
      offset?: number;
      /** Rows in all, where the server counted them. */
      total?: number;
      /** There are rows behind these. */
      more?: boolean;
    }
  | { kind: "pdf"; pages?: number }
  | {
      kind: "text";
      text: string;
      truncated?: boolean;
      /** The number of the first line. */
      offset?: number;
      /** There are lines behind these. */
      more?: boolean;
    }
  | { kind: "none" };

/** What the server says about itself to its page. */
export interface ClientConfig {
  title: string;
  model: ModelInfo;
  demo: boolean;
  /** The sample data is served: what is a sample of the page may be shown beside it. */
  sampleData: boolean;
  suggestions: { text: string }[];
  allow: {
    routes?: string[];
    slash?: string[];
    modals?: string[];
    link_hosts?: string[];
    image_hosts?: string[];
  };
  auth: { mode: string };
  limits: { inputBytes: number };
  /** Absent on servers that take no files. */
  uploads?: {
    enabled: boolean;
    /** The most bytes of one file. */
    maxBytes: number;
    /** The most files of one message. */
    maxFiles: number;
    /** Media types, whole or as in `image/*`; every type when empty. */
    accept: string[];
  };
  showToolDetails: boolean;
}

/** What POST /v1/chat takes. */
export interface ChatRequest {
  conversationId?: string;
  input?: { text: string; attachments?: string[] };
  /** Another answer to the user message that this assistant message answered. */
  regenerateOf?: string;
  /** Another wording of this user message, then an answer to it. */
  editOf?: string;
  /** Stateless use: the whole exchange is in the request. */
  messages?: { role: string; content: string }[];
  /** Made up when absent; the same key joins the turn that it started. */
  idempotencyKey?: string;
}

/** What POST /v1/chat/actions takes. */
export interface ActionRequest {
  msgId: string;
  blockId: string;
  actionId: string;
  payload?: unknown;
  /** The `rev` of the block that the person saw; any when absent. */
  rev?: number;
  /** Of a {@link ConfirmationRequired} that the person agreed to. */
  confirmToken?: string;
  /** Made up when absent. The same key gives the same answer and does nothing twice. */
  idempotencyKey?: string;
  /** Made up when absent; follows the click to the business API. */
  traceId?: string;
}

/** What came of an action. */
export type ActionResult = ActionDone | ActionAccepted;

/** The action was run. `unknown`: it may or may not have happened, and will not be run again. */
export interface ActionDone {
  status: "done" | "unknown";
  msgId: string;
  conversationId: string;
  result?: unknown;
  /** The block's state after it. */
  block: Pick<Block, "id" | "rev" | "state">;
  /** The message has events after this one that belong to the action. */
  afterSeq?: number;
  feedback?: { successText?: string; failureToast?: string };
  traceId?: string;
}

/** The action goes on: as a turn of its own, in the background, or in the paused turn it answers. */
export interface ActionAccepted {
  status: "accepted";
  /** The message to follow: the block's own, or the new turn's. */
  msgId: string;
  conversationId: string;
  /** A new turn's question. */
  userMessageId?: string;
  afterSeq?: number;
  block?: Pick<Block, "id" | "rev" | "state">;
  feedback?: { successText?: string; failureToast?: string };
  traceId?: string;
}

/** How a stream stands: `offline` is a disconnect that the browser itself reports. */
export type Connection = "open" | "reconnecting" | "offline";

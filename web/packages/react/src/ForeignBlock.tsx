import { type Block, InlayClient } from "@inlay-ui/client";
import { useContext, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { BlockView } from "./BlockView.tsx";
import { InlayContext, useInlay } from "./context.ts";
import { ForeignMessage, type More } from "./foreign.ts";
import { InlayProvider, type InlayProviderProps } from "./provider.tsx";

/** How {@link ForeignBlock} reaches the server and draws. */
export interface ForeignOptions extends Omit<Partial<InlayProviderProps>, "children"> {
  /**
   * Where `/v1` is, in place of a `client`. Without either the block is drawn
   * by the provider above it, or else asks the page's own origin.
   */
  endpoint?: string;
  /**
   * Called when what was done with a block led to more than that block: its
   * store is to be brought up to date.
   */
  onMore?: (more: More) => void;
}

/** What {@link ForeignBlock} takes. */
export interface ForeignBlockProps extends ForeignOptions {
  block: Block;
  messageId: string;
  /** The block is cut, and is to be read whole from the server. */
  cut?: boolean;
}

const clients = new Map<string, InlayClient>();

/** The client of an endpoint, one for all blocks. */
function clientOf(endpoint: string): InlayClient {
  const client = clients.get(endpoint) ?? new InlayClient({ endpoint });
  clients.set(endpoint, client);
  return client;
}

/**
 * A block of a message that somebody else's store keeps. What is done with it
 * goes to the server as anywhere, and what comes of that is shown although the
 * store does not know of it: of the block in the store and the one that the
 * server tells of, the one that changed last.
 */
export function ForeignBlock({ block, messageId, cut, onMore, ...options }: ForeignBlockProps) {
  const above = useContext(InlayContext);
  const { client, endpoint, ...provider } = options;
  const drawn = <Drawn block={block} messageId={messageId} cut={cut} onMore={onMore} />;
  if (above && client === undefined && endpoint === undefined) return drawn;
  return (
    <InlayProvider client={client ?? clientOf(endpoint ?? "")} {...provider}>
      {drawn}
    </InlayProvider>
  );
}

function Drawn({
  block,
  messageId,
  cut,
  onMore,
}: Pick<ForeignBlockProps, "block" | "messageId" | "cut" | "onMore">) {
  const { client, attach } = useInlay();
  const message = useMemo(() => ForeignMessage.of(client, messageId), [client, messageId]);
  const given = useSame(block);
  const held = useSyncExternalStore(
    message.subscribe,
    () => message.block(block.id),
    () => undefined,
  );
  const latest = useRef(onMore);
  useEffect(() => {
    latest.current = onMore;
  });
  useEffect(() => attach(message), [attach, message]);
  useEffect(() => message.tell(block.id, (more) => latest.current?.(more)), [message, block.id]);
  const missing = cut && block.status === "done" && !held;
  useEffect(() => {
    // Without the rest the part stays.
    if (missing) message.load().catch(() => {});
  }, [missing, message]);
  return <BlockView block={useLatest(given, held)} messageId={messageId} />;
}

/** The value as it was first seen: stores of other clients copy what has not changed. */
function useSame(block: Block): Block {
  const [seen, setSeen] = useState(block);
  const same = seen === block || equal(seen, block);
  if (!same) setSeen(block);
  return same ? seen : block;
}

/** Of what the store has and what the server told, the one that changed last. */
function useLatest(given: Block, held: Block | undefined): Block {
  const [before, setBefore] = useState({ given, held, shown: later(given, held) });
  if (before.given === given && before.held === held) return before.shown;
  const fresh = before.held !== held;
  const shown = fresh ? (held ?? given) : held && held.rev > given.rev ? held : given;
  setBefore({ given, held, shown });
  return shown;
}

function later(given: Block, held: Block | undefined): Block {
  return held && held.rev >= given.rev ? held : given;
}

/** Whether two JSON values are the same. */
function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [x, y] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const names = Object.keys(x);
  return names.length === Object.keys(y).length && names.every((n) => n in y && equal(x[n], y[n]));
}

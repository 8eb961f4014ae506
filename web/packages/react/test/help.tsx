import { type Block, InlayClient } from "@inlay-ui/client";
import { render } from "@testing-library/react";
import type { ReactNode } from "react";
import { InlayProvider, type InlayProviderProps } from "../src/index.ts";

/** A finished chart, as other tests vary it. */
export function block(change: Partial<Block> = {}): Block {
  return {
    id: "b_1",
    type: "demo",
    version: 1,
    status: "done",
    rev: 1,
    payload: { label: "drawn" },
    fallback: "as text",
    ...change,
  };
}

/** A client that never gets an answer. */
export function idleClient(): InlayClient {
  return new InlayClient({ fetch: () => new Promise<Response>(() => {}) });
}

/** Renders below a provider; `update` renders other children there. */
export function show(children: ReactNode, props: Partial<InlayProviderProps> = {}) {
  const client = props.client ?? idleClient();
  const wrap = (inner: ReactNode) => (
    <InlayProvider client={client} {...props}>
      {inner}
    </InlayProvider>
  );
  const view = render(wrap(children));
  return { ...view, update: (next: ReactNode) => view.rerender(wrap(next)) };
}

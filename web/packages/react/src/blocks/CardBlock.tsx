import type { CardPayload } from "@inlay-ui/client";
import type { BlockProps } from "../registry.ts";
import { CardView } from "./CardView.tsx";

/** Draws a `card` block. The frame shows its title unless it has one of its own. */
export default function CardBlock({ block, payload }: BlockProps<CardPayload>) {
  const own = block.meta?.title;
  return <CardView card={payload} headed={own === undefined || own === payload.title} />;
}

import { useInlay } from "../context.ts";
import { Markdown } from "../markdown/Markdown.tsx";
import type { BlockProps } from "../registry.ts";

/** Draws a `text` block: Markdown that may still be arriving. */
export default function TextBlock({ payload, loading }: BlockProps<string>) {
  const { allow } = useInlay();
  return <Markdown text={payload ?? ""} streaming={loading} allow={allow} />;
}

import { useT } from "./context.ts";

/** The height of a body of which nothing is known. */
export const DEFAULT_HEIGHT = 120;

/** The place of a body that is on its way, at the height that it will take. */
export function Skeleton({ height, title }: { height?: number; title?: string }) {
  const t = useT();
  const label = title ? t("chat.block.loading", { title }) : t("chat.block.loadingUntitled");
  return (
    <div
      className="inlay-skeleton"
      role="img"
      aria-label={label}
      style={{ minHeight: height ?? DEFAULT_HEIGHT }}
    />
  );
}

/** A line of a body whose words are on their way. */
export function SkeletonLine({ width = "medium" }: { width?: "short" | "medium" | "long" }) {
  return <span className="inlay-skeleton inlay-line" data-width={width} aria-hidden="true" />;
}

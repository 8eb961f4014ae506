import type { ImagePayload } from "@inlay-ui/client";
import { lazy, Suspense, useState } from "react";
import { useT } from "../context.ts";
import type { BlockProps } from "../registry.ts";
import { AssetImage } from "./AssetImage.tsx";

const ImageViewer = lazy(() => import("./ImageViewer.tsx"));

/** Draws an `image` block: a small picture that opens into a large one. */
export default function ImageBlock({ block, payload }: BlockProps<ImagePayload>) {
  const t = useT();
  const [open, setOpen] = useState(false);
  const { caption, ...image } = payload;
  return (
    <figure className="inlay-figure">
      <button
        type="button"
        className="inlay-image-open"
        aria-haspopup="dialog"
        aria-label={t("chat.block.image.enlarge", { alt: image.alt })}
        onClick={() => setOpen(true)}
      >
        <AssetImage image={image} variant="thumb" />
      </button>
      {caption ? (
        <figcaption className="inlay-muted" dir="auto">
          {caption}
        </figcaption>
      ) : null}
      {open ? (
        <Suspense fallback={null}>
          <ImageViewer
            image={image}
            title={caption ?? block.meta?.title ?? image.alt}
            onClose={() => setOpen(false)}
          />
        </Suspense>
      ) : null}
    </figure>
  );
}

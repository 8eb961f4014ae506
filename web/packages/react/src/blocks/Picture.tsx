import { useState } from "react";
import type { Allow } from "../context.ts";
import { useT } from "../context.ts";
import { imagePlace } from "../markdown/links.ts";
import { AssetImage } from "./AssetImage.tsx";

/** Where a picture is, and whether it may be shown from there. */
export type PicturePlace = { kind: "asset"; assetId: string } | ReturnType<typeof imagePlace>;

/** Judges the address of a picture; what is no address is a file of the server's. */
export function pictureOf(src: string, allow: Allow): PicturePlace {
  return /^[\w.-]+$/.test(src) ? { kind: "asset", assetId: src } : imagePlace(src, allow);
}

/** A picture from where it may be loaded; another is named, with the way to it. */
export function Picture({ place, alt }: { place: PicturePlace; alt: string }) {
  const t = useT();
  const [lost, setLost] = useState(false);
  switch (place.kind) {
    case "asset":
      return <AssetImage image={{ assetId: place.assetId, alt }} variant="thumb" />;
    case "none":
      return alt;
    case "link":
      return (
        <>
          {alt}{" "}
          <a
            className="inlay-tree-link"
            href={place.href}
            target="_blank"
            rel="noopener noreferrer"
          >
            {t("chat.block.image.open", { host: place.host })}
          </a>
        </>
      );
    case "load":
      return lost ? (
        <span className="inlay-image-lost">{alt}</span>
      ) : (
        <img
          className="inlay-image"
          src={place.src}
          alt={alt}
          loading="lazy"
          decoding="async"
          referrerPolicy="no-referrer"
          onError={() => setLost(true)}
        />
      );
  }
}

import type { CardImage } from "@inlay-ui/client";
import { useState } from "react";
import { AssetNote, useAssetUrl } from "./asset.tsx";

/** A picture of the server's, at the place that it will take. Its address is renewed silently. */
export function AssetImage({
  image,
  variant,
  className = "inlay-image",
}: {
  image: CardImage;
  variant?: "thumb";
  className?: string;
}) {
  const { assetId, alt, width, height } = image;
  const address = useAssetUrl(assetId, variant);
  const [shown, setShown] = useState(false);
  if (address.error) {
    return (
      <span className="inlay-image-lost">
        <span>{alt}</span>
        <AssetNote error={address.error} onAgain={address.again} />
      </span>
    );
  }
  const ratio = width && height ? { aspectRatio: `${width} / ${height}` } : undefined;
  if (address.url === null) {
    return (
      <span
        className={`${className} inlay-image-wait inlay-skeleton`}
        role="img"
        aria-label={alt}
        style={{ ...ratio, width }}
      />
    );
  }
  return (
    <img
      className={className}
      src={address.url}
      alt={alt}
      width={width}
      height={height}
      style={ratio}
      loading="lazy"
      decoding="async"
      draggable={false}
      data-shown={shown || undefined}
      onLoad={() => {
        setShown(true);
        address.loaded();
      }}
      onError={address.refused}
    />
  );
}

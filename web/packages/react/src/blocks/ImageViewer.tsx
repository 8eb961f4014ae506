import type { CardImage } from "@inlay-ui/client";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { useInlay, useT } from "../context.ts";
import { AssetNote, useAssetUrl } from "./asset.tsx";
import { DownloadButton } from "./DownloadButton.tsx";
import { Viewer } from "./Viewer.tsx";

const steps = [1, 1.5, 2, 3, 4, 6, 8];

/** A picture over the page: it fits first, and grows by buttons or by the keys +, - and 0. */
export default function ImageViewer({
  image,
  title,
  onClose,
}: {
  image: CardImage;
  title: string;
  onClose: () => void;
}) {
  const { lang } = useInlay();
  const t = useT();
  const address = useAssetUrl(image.assetId);
  const [step, setStep] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const zoom = steps[step] ?? 1;
  const go = (to: number) => setStep(Math.min(steps.length - 1, Math.max(0, to)));
  const center = useRef({ x: 0.5, y: 0.5 });
  // What was in the middle stays there.
  useEffect(() => {
    const element = scroller.current;
    if (!element || zoom === 1) return;
    element.scrollLeft = center.current.x * element.scrollWidth - element.clientWidth / 2;
    element.scrollTop = center.current.y * element.scrollHeight - element.clientHeight / 2;
  }, [zoom]);
  const onScroll = () => {
    const element = scroller.current;
    if (!element?.scrollWidth || !element.scrollHeight) return;
    center.current = {
      x: (element.scrollLeft + element.clientWidth / 2) / element.scrollWidth,
      y: (element.scrollTop + element.clientHeight / 2) / element.scrollHeight,
    };
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") go(step + 1);
    else if (event.key === "-") go(step - 1);
    else if (event.key === "0") go(0);
    else return;
    event.preventDefault();
  };
  const percent = new Intl.NumberFormat(lang, { style: "percent" }).format(zoom);
  return (
    <Viewer
      title={title}
      onClose={onClose}
      onKey={onKey}
      tools={
        <>
          <button
            type="button"
            className="inlay-button"
            aria-label={t("chat.block.image.smaller")}
            aria-disabled={step === 0}
            onClick={() => go(step - 1)}
          >
            −
          </button>
          <button
            type="button"
            className="inlay-button inlay-figures"
            aria-label={t("chat.block.image.fit", { zoom: percent })}
            onClick={() => go(0)}
          >
            {percent}
          </button>
          <button
            type="button"
            className="inlay-button"
            aria-label={t("chat.block.image.larger")}
            aria-disabled={step === steps.length - 1}
            onClick={() => go(step + 1)}
          >
            +
          </button>
          <DownloadButton assetId={image.assetId} />
        </>
      }
    >
      {address.error ? <AssetNote error={address.error} onAgain={address.again} /> : null}
      <div
        ref={scroller}
        className="inlay-viewer-scroll inlay-viewer-image"
        onScroll={onScroll}
        role="img"
        aria-label={image.alt}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the picture scrolls and must be reachable by keyboard
        tabIndex={0}
      >
        {address.url === null ? null : (
          <img
            src={address.url}
            alt=""
            style={{ width: `${zoom * 100}%`, height: `${zoom * 100}%` }}
            onLoad={address.loaded}
            onError={address.refused}
          />
        )}
      </div>
    </Viewer>
  );
}

import type { EchartsRawPayload } from "@inlay-ui/client";
import { useMemo, useRef } from "react";
import RawCanvas, { type RawHandle } from "../chart/RawCanvas.tsx";
import { checkOption } from "../chart/rawCheck.ts";
import { useInlay, useT } from "../context.ts";
import { useBlockMenu } from "../menu.tsx";
import type { BlockProps } from "../registry.ts";
import { dataUrlBlob, downloadFile, fileName } from "./download.ts";

/** Draws an `echarts_raw` block: a whole ECharts option that the server's own code made. */
export default function EChartsRawBlock({ block, payload }: BlockProps<EchartsRawPayload>) {
  const { dark } = useInlay();
  const t = useT();
  const handle = useRef<RawHandle | null>(null);
  const { option, height = 360 } = payload;
  const problem = useMemo(() => checkOption(option), [option]);
  const title = block.meta?.title ?? payload.title;
  useBlockMenu(
    useMemo(
      () => [
        {
          id: "png",
          label: t("chat.block.menu.png"),
          run: () => {
            const picture = dataUrlBlob(handle.current?.png() ?? "");
            if (picture) downloadFile(fileName(title, "png"), picture);
          },
        },
      ],
      [t, title],
    ),
  );
  if (problem !== null) {
    return (
      <>
        <p className="inlay-block-note">{t("chat.block.invalid")}</p>
        <div className="inlay-block-fallback">{block.fallback}</div>
      </>
    );
  }
  if (isEmpty(option)) return <p className="inlay-empty">{t("chat.block.chart.empty")}</p>;
  return (
    <RawCanvas
      option={option}
      height={Math.min(1000, Math.max(120, height))}
      dark={dark}
      label={block.fallback || title || t("chat.block.chart.picture")}
      handle={handle}
    />
  );
}

/** Whether an option names nothing to draw. */
function isEmpty({ series, baseOption, options }: Record<string, unknown>): boolean {
  if (baseOption !== undefined || options !== undefined) return false;
  return series === undefined || (Array.isArray(series) && series.length === 0);
}

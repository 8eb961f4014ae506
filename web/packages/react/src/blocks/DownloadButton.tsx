import { useT } from "../context.ts";
import { assetTrouble, useDownload } from "./asset.tsx";

/** Saves a file; what goes wrong is said beside it. */
export function DownloadButton({ assetId }: { assetId: string }) {
  const t = useT();
  const save = useDownload(assetId);
  return (
    <>
      {save.error ? <span role="status">{t(assetTrouble(save.error).key)}</span> : null}
      <button
        type="button"
        className="inlay-button"
        aria-disabled={save.busy}
        onClick={() => {
          if (!save.busy) save.download();
        }}
      >
        {t("chat.block.file.download")}
      </button>
    </>
  );
}

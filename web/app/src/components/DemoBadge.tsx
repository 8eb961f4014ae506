import { useId } from "react";
import { useText } from "../i18n/index.ts";
import { usePopover } from "./Menu.tsx";

const environment = `INLAY_MODEL_BASE_URL=https://llm.example.com/v1 \\
INLAY_MODEL_API_KEY=your-key \\
INLAY_MODEL_NAME=your-model \\
inlay serve`;

const configuration = `model:
  base_url: https://llm.example.com/v1
  api_key_env: INLAY_MODEL_API_KEY
  name: your-model`;

/** Says that the answers are scripted, and how to connect a real model. */
export function DemoBadge() {
  const t = useText();
  const { button, popover, open, show, hide, pressed, wasOpen } = usePopover();
  const id = useId();
  return (
    <div className="page-demo">
      <button
        ref={button}
        type="button"
        className="page-demo-badge"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onPointerDown={pressed}
        onClick={() => {
          if (wasOpen()) hide();
          else {
            show();
            popover.current?.focus();
          }
        }}
      >
        {t("demo.badge")}
      </button>
      <div
        ref={popover}
        id={id}
        popover="auto"
        role="dialog"
        aria-label={t("demo.title")}
        tabIndex={-1}
        className="page-popover"
      >
        <h2>{t("demo.title")}</h2>
        <p>{t("demo.body")}</p>
        <pre>
          <code>{environment}</code>
        </pre>
        <p>{t("demo.yaml")}</p>
        <pre>
          <code>{configuration}</code>
        </pre>
        <p>{t("demo.restart")}</p>
      </div>
    </div>
  );
}

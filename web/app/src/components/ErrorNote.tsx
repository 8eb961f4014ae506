import type { ReactNode } from "react";
import { type Failure, wordError } from "../errors.ts";
import { useText } from "../i18n/index.ts";
import { Icon } from "./Icon.tsx";

/** An error in words, with its cure and whatever the reader can do at once. */
export function ErrorNote({ failure, children }: { failure: Failure; children?: ReactNode }) {
  const t = useText();
  const wording = wordError(failure);
  return (
    <div className="page-error" role="alert" data-error={wording.kind}>
      <Icon name="warning" />
      <div className="page-error-text">
        <p>
          <strong>{t(wording.what)}</strong> {t(wording.cure)}
        </p>
        {wording.traceId && (
          <p className="page-error-trace">{t("error.trace", { id: wording.traceId })}</p>
        )}
      </div>
      {children && <div className="page-error-actions">{children}</div>}
    </div>
  );
}

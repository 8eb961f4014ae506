import { useEffect, useId, useRef, useState } from "react";
import { useText } from "../i18n/index.ts";

/** Asks for the bearer token that the server wants. `rejected` is true when one was tried and refused. */
export function SignIn({
  rejected,
  onToken,
}: {
  rejected: boolean;
  onToken: (token: string) => void;
}) {
  const t = useText();
  const id = useId();
  const [token, setToken] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <form
      className="page-signin"
      aria-labelledby={`${id}-title`}
      onSubmit={(event) => {
        event.preventDefault();
        const value = token.trim().replace(/^bearer\s+/i, "");
        if (value !== "") onToken(value);
      }}
    >
      <h1 id={`${id}-title`}>{t("signin.title")}</h1>
      <p id={`${id}-body`}>{t("signin.body")}</p>
      <label htmlFor={id}>{t("signin.label")}</label>
      <div className="page-signin-row">
        <input
          ref={field}
          id={id}
          type="password"
          autoComplete="off"
          spellCheck={false}
          value={token}
          aria-describedby={`${id}-body`}
          aria-invalid={rejected}
          onChange={(event) => setToken(event.target.value)}
        />
        <button type="submit" className="page-button" data-primary="true">
          {t("signin.submit")}
        </button>
      </div>
      {rejected && (
        <p role="alert" className="page-signin-rejected">
          {t("signin.rejected")}
        </p>
      )}
    </form>
  );
}

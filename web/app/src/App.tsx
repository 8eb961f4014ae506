import { type ClientConfig, InlayClient } from "@inlay-ui/client";
import { clearDrafts, InlayProvider, type Navigation } from "@inlay-ui/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ErrorNote } from "./components/ErrorNote.tsx";
import { SignIn } from "./components/SignIn.tsx";
import { type Failure, needsSignIn, toFailure } from "./errors.ts";
import { type Lang, languageTag, TextContext, translator } from "./i18n/index.ts";
import { samples } from "./modals/index.ts";
import { Page, type PageHandle } from "./Page.tsx";
import { placeOf } from "./route.ts";
import { loadSettings, loadToken, type Settings, saveSettings, saveToken } from "./settings.ts";

/** The chat page: settings, sign-in and the server's configuration around the {@link Page}. */
export function App() {
  const [settings, setSettings] = useState(() => loadSettings(navigator.languages));
  const [token, setToken] = useState(loadToken);
  const [refused, setRefused] = useState(false);
  const { theme, lang } = settings;

  const change = useCallback((next: Partial<Settings>) => {
    saveSettings(next);
    setSettings((old) => ({ ...old, ...next }));
  }, []);

  const client = useMemo(
    () =>
      new InlayClient({
        headers: (): HeadersInit => (token === null ? {} : { Authorization: `Bearer ${token}` }),
      }),
    [token],
  );
  client.lang = languageTag(lang);

  const signIn = useCallback((next: string | null) => {
    saveToken(next);
    setRefused(false);
    setToken(next);
  }, []);

  // What the page still had to keep of a form it has kept by then.
  const [signOuts, setSignOuts] = useState(0);
  useEffect(() => {
    if (signOuts > 0) clearDrafts();
  }, [signOuts]);

  const text = useMemo(() => ({ lang, t: translator(lang) }), [lang]);
  useEffect(() => {
    document.documentElement.lang = languageTag(lang);
  }, [lang]);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);

  const page = useRef<PageHandle>(null);
  const navigation = useMemo(
    (): Navigation => ({
      knows: (target) => placeOf(target) !== null,
      navigate: (target) => {
        const place = placeOf(target);
        if (place === null) return;
        if ("document" in place) window.location.assign(place.document);
        else page.current?.go(place.conversationId);
      },
      prefill: (command) => page.current?.prefill(command),
    }),
    [],
  );

  const { config, failure, reload } = useConfig(client, lang);
  const signInNeeded = refused || (failure !== null && needsSignIn(failure));

  return (
    <TextContext value={text}>
      <InlayProvider
        client={client}
        lang={lang}
        theme={theme}
        {...(config && { allow: config.allow })}
        navigation={navigation}
        // Only where the data is a sample too.
        {...(config?.sampleData && { modals: samples })}
      >
        {signInNeeded ? (
          <div className="page">
            <main className="page-center">
              <SignIn rejected={token !== null} onToken={signIn} />
            </main>
          </div>
        ) : config ? (
          <Page
            key={token}
            handle={page}
            client={client}
            config={config}
            token={token}
            settings={settings}
            onSettings={change}
            onSignInNeeded={() => setRefused(true)}
            onSignOut={() => {
              setSignOuts((n) => n + 1);
              signIn(null);
            }}
          />
        ) : (
          <div className="page">
            <main className="page-center">
              <h1 className="page-hidden">Inlay</h1>
              {failure ? (
                <ErrorNote failure={failure}>
                  <button type="button" className="page-button" onClick={reload}>
                    {text.t("error.retry")}
                  </button>
                </ErrorNote>
              ) : (
                <p role="status">{text.t("app.loading")}</p>
              )}
            </main>
          </div>
        )}
      </InlayProvider>
    </TextContext>
  );
}

/** Loads what the server tells its page, in the page's language; the last answer stays while the next one loads. */
function useConfig(client: InlayClient, lang: Lang) {
  const [config, setConfig] = useState<ClientConfig | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: texts depend on the language, attempts repeat the request
  useEffect(() => {
    let current = true;
    client.config().then(
      (answer) => {
        if (!current) return;
        setConfig(answer);
        setFailure(null);
      },
      (error: unknown) => {
        if (current) setFailure(toFailure(error));
      },
    );
    return () => {
      current = false;
    };
  }, [client, lang, attempt]);
  useEffect(() => {
    const again = () => setAttempt((count) => count + 1);
    window.addEventListener("online", again);
    return () => window.removeEventListener("online", again);
  }, []);
  return { config, failure, reload: () => setAttempt((count) => count + 1) };
}

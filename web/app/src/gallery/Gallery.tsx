import { InlayClient, type Message } from "@inlay-ui/client";
import { BlockView, InlayProvider, type Navigation, useChat } from "@inlay-ui/react";
import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useId,
  useMemo,
  useState,
  useSyncExternalStore,
} from "react";
import { Turn, type TurnActions } from "../components/Turn.tsx";
import {
  languageNames,
  languages,
  languageTag,
  TextContext,
  translator,
  useLang,
} from "../i18n/index.ts";
import { samples } from "../modals/index.ts";
import { type Case, conversationId, type Group, groupsOf, type Vectors } from "./cases.ts";
import { blockFrames, messageFrames, sampleTrajectory } from "./frames.ts";
import { formatOptions, type Options, outcomes, parseOptions, widths } from "./options.ts";
import { LocalServer, type Sent } from "./server.ts";
import { type GalleryKey, texts } from "./texts.ts";

const themes = ["light", "dark", "system"] as const;
/** Hosts that sample links may lead to. */
const allow = { link_hosts: ["example.com", "*.example.com"], image_hosts: [] };
/** Paths that sample items may lead to; the others stand for those that a page does not have. */
const paths = ["/gallery", "/wallet", "/settings", "/alerts"];

/** How long it is shown where a block would have led. */
const ledMs = 8_000;

const ServerContext = createContext<LocalServer | null>(null);

function useWords(): (key: GalleryKey, vars?: Record<string, string>) => string {
  const lang = useLang();
  return (key, vars = {}) =>
    texts[lang][key].replace(/\{(\w+)\}/g, (place, name: string) => vars[name] ?? place);
}

/** The options in the address, and a way to change them there. */
function useOptions(): [Options, (change: Partial<Options>) => void] {
  const [options, setOptions] = useState(() => parseOptions(location, navigator.languages));
  useEffect(() => {
    const read = () => setOptions(parseOptions(location, navigator.languages));
    window.addEventListener("hashchange", read);
    window.addEventListener("popstate", read);
    return () => {
      window.removeEventListener("hashchange", read);
      window.removeEventListener("popstate", read);
    };
  }, []);
  const change = useCallback((next: Partial<Options>) => {
    setOptions((old) => {
      const options = { ...old, ...next };
      history.replaceState(history.state, "", location.pathname + formatOptions(options));
      return options;
    });
  }, []);
  return [options, change];
}

/** Every block type in every state, drawn as in the chat, with no server behind it. */
export function Gallery({ files, delayMs }: { files: readonly Vectors[]; delayMs?: number }) {
  const [options, change] = useOptions();
  const { lang, theme, outcome } = options;
  const groups = useMemo(
    () => [...groupsOf(files), blockFrames(lang), messageFrames(lang)],
    [files, lang],
  );
  const server = useMemo(
    () => new LocalServer(groups.flatMap((group) => group.cases).filter(rests), delayMs),
    [groups, delayMs],
  );
  server.outcome = outcome;
  const client = useMemo(() => new InlayClient({ fetch: server.fetch }), [server]);
  client.lang = languageTag(lang);
  useEffect(() => {
    document.documentElement.lang = languageTag(lang);
    document.title = `${texts[lang].title} – Inlay`;
  }, [lang]);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const text = useMemo(() => ({ lang, t: translator(lang) }), [lang]);
  const [led, setLed] = useState<Led | null>(null);
  useEffect(() => {
    if (led === null) return;
    const timer = setTimeout(() => setLed(null), ledMs);
    return () => clearTimeout(timer);
  }, [led]);
  // It goes nowhere and there is no message field: it says what the chat would do.
  const navigation = useMemo(
    (): Navigation => ({
      knows: (target) => paths.includes(target.replace(/[?#].*$/, "")),
      navigate: (where) => setLed({ key: "wentTo", vars: { where } }),
      prefill: (text) => setLed({ key: "wrote", vars: { text } }),
    }),
    [],
  );
  return (
    <TextContext value={text}>
      <ServerContext value={server}>
        <InlayProvider
          client={client}
          lang={lang}
          theme={theme}
          allow={allow}
          navigation={navigation}
          modals={samples}
        >
          <Room groups={groups} options={options} change={change} client={client} led={led} />
        </InlayProvider>
      </ServerContext>
    </TextContext>
  );
}

/** Where a block would have led. */
interface Led {
  key: "wentTo" | "wrote";
  vars: Record<string, string>;
}

/** Whether a message is over: one that runs would be waited for. */
function rests({ message }: Case): boolean {
  return message.status !== "running";
}

function Room({
  groups,
  options,
  change,
  client,
  led,
}: {
  groups: readonly Group[];
  options: Options;
  change: (next: Partial<Options>) => void;
  client: InlayClient;
  led: Led | null;
}) {
  const words = useWords();
  const chat = useChat({ conversationId });
  const now = useMemo(() => new Map(chat.messages.map((m) => [m.id, m])), [chat.messages]);
  const shown = groups
    .filter(({ type }) => options.types.length === 0 || options.types.includes(type))
    .map((group) => ({
      ...group,
      cases: group.cases.filter(
        ({ name, id }) => !options.case || [name, id].includes(options.case),
      ),
    }))
    .filter(({ cases }) => cases.length > 0);
  const ready = chat.messages.length > 0;
  return (
    <div
      className="page gallery"
      data-width={options.width}
      data-bare={options.bare || undefined}
      data-ready={ready || undefined}
    >
      {!options.bare && <Bar groups={groups} options={options} change={change} />}
      <main className="gallery-main">
        {options.bare && <h1 className="page-hidden">{words("title")}</h1>}
        {!ready && <p role="status">{words("loading")}</p>}
        {ready && shown.length === 0 && <p>{words("none")}</p>}
        {ready &&
          shown.map(({ type, cases }) => (
            <section key={type} className="gallery-group" data-group={type}>
              <h2>{typeName(type, words)}</h2>
              {cases.map((entry) => (
                <Entry
                  key={entry.id}
                  entry={entry}
                  type={type}
                  message={now.get(entry.message.id) ?? entry.message}
                  options={options}
                  client={client}
                />
              ))}
            </section>
          ))}
      </main>
      <p className="gallery-led" role="status">
        {led && words(led.key, led.vars)}
      </p>
    </div>
  );
}

function typeName(type: string, words: (key: GalleryKey) => string): string {
  return type === "message" ? words("messages") : type === "frame" ? words("frames") : type;
}

/** The gallery's title and what can be chosen. */
function Bar({
  groups,
  options,
  change,
}: {
  groups: readonly Group[];
  options: Options;
  change: (next: Partial<Options>) => void;
}) {
  const words = useWords();
  const [type = "", ...more] = options.types;
  const several = options.types.join(",");
  return (
    <header className="gallery-bar">
      <h1>{words("title")}</h1>
      <p>{words("intro")}</p>
      <form className="gallery-options" aria-label={words("options")}>
        <Choice
          label={words("type")}
          value={several}
          values={[
            ["", words("allTypes")],
            ...groups.map(({ type, cases }): [string, string] => [
              type,
              `${typeName(type, words)} (${cases.length})`,
            ]),
            ...(more.length > 0 ? [[several, several] as [string, string]] : []),
          ]}
          onChange={(value) => change({ types: value ? value.split(",") : [], case: null })}
        />
        <Choice
          label={words("language")}
          value={options.lang}
          values={languages.map((lang) => [lang, languageNames[lang]])}
          onChange={(lang) => change({ lang })}
        />
        <Choice
          label={words("theme")}
          value={options.theme}
          values={themes.map((theme) => [theme, words(`theme.${theme}`)])}
          onChange={(theme) => change({ theme })}
        />
        <Choice
          label={words("width")}
          value={options.width}
          values={widths.map((width) => [width, words(`width.${width}`)])}
          onChange={(width) => change({ width })}
        />
        <Choice
          label={words("outcome")}
          value={options.outcome}
          values={outcomes.map((outcome) => [outcome, words(`outcome.${outcome}`)])}
          onChange={(outcome) => change({ outcome })}
        />
      </form>
      {options.case && (
        <p className="gallery-only" role="status">
          {words("onlyCase", { name: type ? `${type}: ${options.case}` : options.case })}{" "}
          <button type="button" className="page-link" onClick={() => change({ case: null })}>
            {words("showAll")}
          </button>
        </p>
      )}
    </header>
  );
}

function Choice<T extends string>({
  label,
  value,
  values,
  onChange,
}: {
  label: string;
  value: T;
  values: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}) {
  const id = useId();
  return (
    <div className="gallery-choice">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={(event) => {
          const chosen = values.find(([known]) => known === event.target.value);
          if (chosen) onChange(chosen[0]);
        }}
      >
        {values.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

/** One case: its name with a link, what is drawn, and what was sent. */
function Entry({
  entry,
  type,
  message,
  options,
  client,
}: {
  entry: Case;
  type: string;
  message: Message;
  options: Options;
  client: InlayClient;
}) {
  const words = useWords();
  const lang = useLang();
  const id = useId();
  const title = entry.title?.[lang] ?? entry.name;
  const link = formatOptions({ ...options, types: [type], case: entry.name, bare: false });
  return (
    <article className="gallery-case" data-case={entry.id} aria-labelledby={id}>
      <h3 id={id}>
        <a href={link} aria-label={words("link", { name: title })}>
          {title}
        </a>
        {title !== entry.name && <code>{entry.name}</code>}
      </h3>
      <div className="gallery-stage">
        {entry.turn ? (
          <TurnStage message={message} client={client} />
        ) : (
          message.blocks.map((block) => (
            <BlockView key={block.id} block={block} messageId={message.id} />
          ))
        )}
      </div>
      <Outbox messageId={message.id} />
    </article>
  );
}

function TurnStage({ message, client }: { message: Message; client: InlayClient }) {
  const [editing, setEditing] = useState(false);
  const actions: TurnActions = useMemo(() => {
    // What starts a turn is shown and goes no further: there is nobody to answer.
    const ask = (request: Parameters<InlayClient["chat"]>[0]) =>
      void client.chat({ conversationId, ...request }).catch(() => {});
    return {
      regenerate: (regenerateOf) => ask({ regenerateOf }),
      edit: (editOf, text) => ask({ editOf, input: { text } }),
      selectBranch: () => {},
      startEdit: (which) => setEditing(which !== null),
      feedback: (id, rating, comment) => client.feedback(id, rating, comment),
      loadTrajectory: async () => sampleTrajectory(),
      announce: () => {},
    };
  }, [client]);
  return (
    <Turn
      message={message}
      position={1}
      count={1}
      busy={message.status === "running"}
      editing={editing}
      toolDetails
      actions={actions}
    />
  );
}

/** What a case has sent. */
function Outbox({ messageId }: { messageId: string }) {
  const words = useWords();
  const server = useContext(ServerContext);
  const sent = useSyncExternalStore(
    server?.subscribe ?? subscribeToNothing,
    () => server?.sent(messageId) ?? nothing,
  );
  return (
    <div className="gallery-sent" role="log" aria-label={words("sent")}>
      {sent.map((request) => (
        <figure key={request.id}>
          <figcaption>
            {words("sent")}: <code>{`${request.method} ${request.path}`}</code> → {request.status}
          </figcaption>
          {request.body !== undefined && !(request.body instanceof FormData) && (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
            <pre tabIndex={0}>{JSON.stringify(request.body, null, 2)}</pre>
          )}
        </figure>
      ))}
    </div>
  );
}

const nothing: readonly Sent[] = [];
const subscribeToNothing = () => () => {};

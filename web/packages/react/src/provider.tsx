import type { InlayClient } from "@inlay-ui/client";
import {
  type ComponentType,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { defaultRegistry } from "./builtins.ts";
import {
  type Allow,
  type Inlay,
  InlayContext,
  type Navigation,
  type Prompt,
  type Theme,
} from "./context.ts";
import { Host } from "./host.ts";
import { translator, type Words } from "./i18n/index.ts";
import { type ModalEntry, withRegistered } from "./modals.ts";
import { NoticeView } from "./NoticeView.tsx";
import { type BlockProps, BlockRegistry, type RendererEntry } from "./registry.ts";

/** Renderers by type: a component for version 1, or a whole entry. */
export type Overrides = Record<string, ComponentType<BlockProps> | Omit<RendererEntry, "type">>;

/** What {@link InlayProvider} takes. */
export interface InlayProviderProps {
  client: InlayClient;
  /** A BCP 47 tag; `en` when absent. */
  lang?: string;
  /** `system` when absent. */
  theme?: Theme;
  /** Renderers that take the place of built-in ones, or come to them. */
  blocks?: Overrides;
  allow?: Allow;
  /** What items that lead somewhere in the page are done with. */
  navigation?: Navigation;
  /** Modals by name, besides those of `registerModal`. */
  modals?: Record<string, ModalEntry>;
  /** Called for each prompt of a block; true means that it was dealt with and is not sent. */
  onPrompt?: (prompt: Prompt) => boolean | undefined;
  /** Words that take the place of the built-in ones. */
  texts?: Words;
  children?: ReactNode;
}

/**
 * Gives hooks and blocks below it their client, language, theme and
 * renderers. A client that does not say itself what it can draw declares the
 * renderers of this provider.
 */
export function InlayProvider({
  client,
  lang = "en",
  theme = "system",
  blocks,
  allow,
  navigation,
  modals,
  onPrompt,
  texts,
  children,
}: InlayProviderProps) {
  const [host] = useState(() => new Host());
  const hosts = JSON.stringify(allow ?? {});
  // A new object with the same renderers must not draw every block anew.
  const [own, setOwn] = useState(blocks);
  if (own !== blocks && !sameOverrides(own, blocks)) setOwn(blocks);
  const registry = useMemo(() => withOverrides(own), [own]);
  const page = usePage(navigation);
  const openers = withRegistered(modals);
  const names = Object.keys(openers).sort().join(",");
  const dark = useSyncExternalStore(watchScheme, prefersDark, () => false);
  const value = useMemo<Inlay>(
    () => ({
      client,
      lang,
      theme,
      dark: theme === "dark" || (theme === "system" && dark),
      allow: JSON.parse(hosts) as Allow,
      registry,
      t: translator(lang, texts),
      host,
      navigation: page,
      modals: names === "" ? [] : names.split(","),
      attach: (store) => {
        host.stores.add(store);
        return () => host.stores.delete(store);
      },
    }),
    [client, lang, theme, dark, hosts, registry, texts, host, page, names],
  );
  // Before the children's effects, which send the first requests.
  const given = useRef<{ blocks?: readonly string[]; lang?: string }>({});
  if (client.blocks === undefined || client.blocks === given.current.blocks) {
    given.current.blocks = client.blocks = registry.tokens();
  }
  if (client.lang === undefined || client.lang === given.current.lang) {
    given.current.lang = client.lang = lang;
  }
  useEffect(() => {
    host.allow = value.allow;
    host.client = client;
    host.t = value.t;
    host.navigation = navigation;
    host.modals = openers;
    host.onPrompt = onPrompt;
  });
  return (
    <InlayContext.Provider value={value}>
      <div className="inlay-root" data-theme={theme} lang={lang}>
        {children}
        <NoticeView notices={host.notices} />
      </div>
    </InlayContext.Provider>
  );
}

/** What the page can do, as one object until that changes; its functions may be new ones each time. */
function usePage(navigation: Navigation | undefined): Navigation | undefined {
  const latest = useRef(navigation);
  latest.current = navigation;
  const can = navigation !== undefined;
  const knows = navigation?.knows !== undefined;
  const prefill = navigation?.prefill !== undefined;
  return useMemo(() => {
    if (!can) return undefined;
    return {
      navigate: (target) => latest.current?.navigate(target),
      ...(knows && { knows: (target) => latest.current?.knows?.(target) ?? false }),
      ...(prefill && { prefill: (command) => latest.current?.prefill?.(command) }),
    };
  }, [can, knows, prefill]);
}

function withOverrides(blocks: InlayProviderProps["blocks"]): BlockRegistry {
  if (!blocks) return defaultRegistry();
  const registry = new BlockRegistry(defaultRegistry().entries());
  for (const [type, own] of Object.entries(blocks)) {
    registry.add("major" in own ? { ...own, type } : { type, major: 1, component: own });
  }
  return registry;
}

/** Whether two sets of overrides name the same renderers. */
function sameOverrides(a: Overrides = {}, b: Overrides = {}): boolean {
  return sameMembers(a, b, (x, y) => x === y || sameMembers({ ...x }, { ...y }, Object.is));
}

function sameMembers<T>(
  a: Record<string, T>,
  b: Record<string, T>,
  same: (x: T | undefined, y: T | undefined) => boolean,
): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((n) => n in b && same(a[n], b[n]));
}

const query = "(prefers-color-scheme: dark)";

function prefersDark(): boolean {
  return typeof matchMedia === "function" && matchMedia(query).matches;
}

function watchScheme(listener: () => void): () => void {
  if (typeof matchMedia !== "function") return () => {};
  const list = matchMedia(query);
  list.addEventListener("change", listener);
  return () => list.removeEventListener("change", listener);
}

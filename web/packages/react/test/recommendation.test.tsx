import { type FeatureRecommendationItem, InlayClient } from "@inlay-ui/client";
import { act, cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  BlockView,
  builtinRenderers,
  clientCapabilityTokens,
  Dialog,
  InlayProvider,
  type InlayProviderProps,
  type ModalProps,
  type Navigation,
  registerModal,
  UnknownBlockCard,
  useInlay,
} from "../src/index.ts";
import { block, show } from "./help.tsx";

const opened = vi.fn();
const warned = vi.fn();
let sent: { path: string; body: unknown }[];
let answer: () => Promise<Response>;

beforeEach(() => {
  sent = [];
  answer = async () => new Response(null, { status: 204 });
  vi.spyOn(window, "open").mockImplementation((...args) => {
    opened(...args);
    return null;
  });
  vi.spyOn(console, "warn").mockImplementation(warned);
});
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.clearAllMocks();
});

/** Modals may have other names than those of the protocol. */
type Action = FeatureRecommendationItem["action"] | { kind: "modal"; name: string };

const item = (action: Action, more: Partial<FeatureRecommendationItem> = {}) => ({
  id: "next",
  label: "Go on",
  action,
  ...more,
});

const card = (...items: unknown[]) =>
  block({ type: "minara.feature_recommendation", payload: { items } });

/** A page that knows two paths. */
function page() {
  return {
    navigate: vi.fn<Navigation["navigate"]>(),
    knows: (target: string) => ["/wallet", "/docs"].includes(target.split("?")[0] ?? ""),
    prefill: vi.fn<(command: string) => void>(),
  };
}

function Broken(): never {
  throw new Error("broken");
}

function Changes({ params }: ModalProps) {
  params.asset = "changed";
  return <p>opened</p>;
}

function Deposit({ params, close, block: from }: ModalProps) {
  return (
    <Dialog title="Deposit" onClose={close}>
      {JSON.stringify(params)} from {from?.id}
    </Dialog>
  );
}

/** Draws a card of these items and waits for its buttons. */
async function draw(items: unknown[], props: Partial<InlayProviderProps> = {}) {
  const fetch: typeof globalThis.fetch = async (path, init) => {
    sent.push({ path: String(path), body: JSON.parse(String(init?.body)) });
    return answer();
  };
  const client = new InlayClient({ fetch });
  const view = show(<BlockView block={card(...items)} messageId="m_1" />, { client, ...props });
  await screen.findAllByRole("button");
  return view;
}

const button = (name = "Go on") => screen.getByRole("button", { name });
const click = (name?: string) => act(async () => fireEvent.click(button(name)));
const off = (name?: string) => button(name).getAttribute("aria-disabled") === "true";

/** What a screen reader says besides the name. */
const description = (element: HTMLElement) =>
  (element.getAttribute("aria-describedby") ?? "")
    .split(" ")
    .map((id) => document.getElementById(id)?.textContent ?? "")
    .join(" ");

test("a client declares the recommendation with the types that it can draw", () => {
  expect(clientCapabilityTokens()).toContain("minara.feature_recommendation@1");
});

describe("the card", () => {
  test("is a named group of buttons with hints as descriptions, and pictures that say nothing", async () => {
    const action: Action = { kind: "route", target: "/wallet" };
    await draw(
      [
        item(action, { id: "a", label: "Deposit now", hint: "Add funds first", icon: "deposit" }),
        item({ kind: "route", target: "/docs" }, { id: "b", label: "Read on" }),
      ],
      { navigation: page() },
    );
    const group = screen.getByRole("group", { name: "Next step" });
    const [first, second] = within(group).getAllByRole("button");
    expect(first).toBe(button("Deposit now"));
    expect(description(button("Deposit now"))).toBe("Add funds first");
    expect(first?.querySelector("svg")?.getAttribute("aria-hidden")).toBe("true");
    expect(second?.hasAttribute("aria-describedby")).toBe(false);
    expect(second?.querySelector("svg")).toBeNull();
  });

  test("every icon of the protocol is drawn, each another", async () => {
    const { recommendationIcons } = await import("@inlay-ui/client/validate");
    const drawn = new Set<string>();
    for (const icon of recommendationIcons) {
      await draw([item({ kind: "route", target: "/wallet" }, { icon })]);
      drawn.add(button().querySelector("svg path")?.getAttribute("d") ?? "");
      cleanup();
    }
    expect(drawn.size).toBe(12);
    expect(drawn.has("")).toBe(false);
  });

  test("speaks Chinese", async () => {
    await draw([item({ kind: "external", url: "https://minara.ai/docs" })], { lang: "zh-CN" });
    expect(screen.getByRole("group", { name: "下一步" })).toBeTruthy();
    expect(description(button())).toBe("在新标签页中打开 minara.ai");
  });

  test("says of what leads out of the page that it does, and to which host", async () => {
    await draw([item({ kind: "external", url: "https://minara.ai/docs" }, { hint: "The guide" })]);
    expect(description(button())).toBe("The guide Opens minara.ai in a new tab");
    expect(button().title).toBe("Opens minara.ai in a new tab");
  });

  test("shows words as they are, never as markup", async () => {
    await draw([item({ kind: "route", target: "/wallet" }, { label: "<b>Go</b>" })]);
    expect(button("<b>Go</b>")).toBeTruthy();
  });

  test.each([
    [
      "three items",
      ["/a", "/b", "/c"].map((target, i) => ({ ...item({ kind: "route", target }), id: `i${i}` })),
    ],
    ["an unknown kind", [{ ...item({ kind: "route", target: "/a" }), action: { kind: "run" } }]],
    ["a route that leaves the page", [item({ kind: "route", target: "//evil.test" })]],
    ["a picture that nobody knows", [{ ...item({ kind: "route", target: "/a" }), icon: "rocket" }]],
    ["no items", []],
  ])("with %s is shown as its text", async (_, items) => {
    show(<BlockView block={card(...items)} messageId="m_1" />);
    expect(await screen.findByText(/could not be checked/)).toBeTruthy();
    expect(screen.getByText("as text")).toBeTruthy();
    expect(screen.queryByRole("button")).toBeNull();
  });

  test("of a newer version is drawn by what is known of it, and says so", async () => {
    const newer = {
      ...card({ ...item({ kind: "route", target: "/wallet" }), tone: "calm" }),
      version: 2,
    };
    show(<BlockView block={newer} messageId="m_1" />, { navigation: page() });
    expect(await screen.findByRole("button", { name: "Go on" })).toBeTruthy();
    expect(screen.getByText(/Shown in part/)).toBeTruthy();
  });

  test("keeps its place while it loads: its entry says how high it is", () => {
    const entry = builtinRenderers.find((e) => e.type === "minara.feature_recommendation");
    expect(entry?.height).toBe(96);
  });
});

describe("an item that leads to a path", () => {
  test("is followed by the page's router, also from the keyboard", async () => {
    const navigation = page();
    await draw([item({ kind: "route", target: "/wallet?tab=1" })], { navigation });
    await userEvent.tab();
    expect(document.activeElement).toBe(button());
    await userEvent.keyboard("{Enter}");
    await waitFor(() =>
      expect(navigation.navigate).toHaveBeenCalledExactlyOnceWith("/wallet?tab=1"),
    );
  });

  test("uses the functions of the page as they are at the click", async () => {
    const navigation = page();
    const client = new InlayClient({ fetch: () => answer() });
    const view = (navigate: Navigation["navigate"]) => (
      <InlayProvider client={client} navigation={{ ...navigation, navigate }}>
        <BlockView block={card(item({ kind: "route", target: "/wallet" }))} messageId="m_1" />
      </InlayProvider>
    );
    const first = vi.fn();
    const { rerender } = render(view(first));
    await screen.findByRole("button");
    const second = vi.fn();
    rerender(view(second));
    await click();
    await waitFor(() => expect(second).toHaveBeenCalledOnce());
    expect(first).not.toHaveBeenCalled();
  });

  test.each<[string, Partial<InlayProviderProps>]>([
    ["the page has no router", {}],
    ["the router does not know it", { navigation: { ...page(), knows: () => false } }],
    ["it is not allowed", { navigation: page(), allow: { routes: ["/docs/*"] } }],
  ])("is off, with the reason, when %s", async (_, props) => {
    await draw([item({ kind: "route", target: "/wallet" })], props);
    expect(off()).toBe(true);
    expect(description(button())).toBe("That page is not available here.");
    expect(button().title).toBe("That page is not available here.");
    await click();
    expect(sent).toEqual([]);
  });

  test("is allowed by a list, and needs no router that knows its paths", async () => {
    const navigate = vi.fn();
    await draw([item({ kind: "route", target: "/market/btc" })], {
      navigation: { navigate },
      allow: { routes: ["/market/*"] },
    });
    await click();
    await waitFor(() => expect(navigate).toHaveBeenCalledWith("/market/btc"));
  });
});

describe("an item with a command", () => {
  test("only fills the field", async () => {
    const navigation = page();
    await draw([item({ kind: "slash", command: "/buy 100 BTC" })], { navigation });
    await click();
    await waitFor(() => expect(navigation.prefill).toHaveBeenCalledExactlyOnceWith("/buy 100 BTC"));
    expect(sent.map((request) => request.path)).toEqual(["/v1/telemetry/block-action"]);
  });

  test.each<[string, Partial<InlayProviderProps>]>([
    ["there is no field", { navigation: { navigate: () => {} } }],
    ["the command is not allowed", { navigation: page(), allow: { slash: ["sell"] } }],
  ])("is off when %s", async (_, props) => {
    await draw([item({ kind: "slash", command: "/buy 100 BTC" })], props);
    expect(off()).toBe(true);
    expect(description(button())).toBe("That command is not available here.");
  });
});

describe("an item that opens a modal", () => {
  const deposit = item({ kind: "modal", name: "deposit", params: { asset: "BTC" } });

  test("opens it with its parameters, and takes it away when it closes", async () => {
    await draw([deposit], { modals: { deposit: Deposit } });

    await click();
    expect(await screen.findByText('{"asset":"BTC"} from b_1')).toBeTruthy();
    await act(async () => fireEvent.click(screen.getByRole("button", { name: "Close" })));
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  test("loads it at the first click, once however often it is clicked", async () => {
    let arrive = (_: { default: typeof Deposit }) => {};
    const load = vi.fn(
      () =>
        new Promise<{ default: typeof Deposit }>((resolve) => {
          arrive = resolve;
        }),
    );
    await draw([deposit], { modals: { deposit: { load } } });
    expect(load).not.toHaveBeenCalled();
    await click();
    await click();
    await waitFor(() => expect(load).toHaveBeenCalledOnce());
    await act(async () => arrive({ default: Deposit }));
    expect(await screen.findAllByRole("dialog", { name: "Deposit" })).toHaveLength(1);
  });

  test("that cannot be loaded says so, and can be tried again", async () => {
    const load = vi
      .fn<() => Promise<{ default: typeof Deposit }>>()
      .mockRejectedValueOnce(new Error("offline"))
      .mockResolvedValue({ default: Deposit });
    await draw([deposit], { modals: { deposit: { load } } });
    await click();
    await act(async () =>
      fireEvent.click(await screen.findByRole("button", { name: "Try again" })),
    );
    expect(await screen.findByRole("dialog", { name: "Deposit" })).toBeTruthy();
  });

  test("that throws takes nothing else with it", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    await draw([deposit], { modals: { deposit: Broken } });
    await click();
    expect(await screen.findByRole("dialog", { name: /could not be drawn/ })).toBeTruthy();
    expect(button()).toBeTruthy();
  });

  test("cannot change the block through its parameters", async () => {
    const shown = card(item({ kind: "modal", name: "deposit", params: { asset: "BTC" } }));
    show(<BlockView block={shown} messageId="m_1" />, { modals: { deposit: Changes } });
    await screen.findByRole("button");
    await click();
    await screen.findByText("opened");
    expect(JSON.stringify(shown.payload)).toContain('{"asset":"BTC"}');
  });

  test.each<[string, Partial<InlayProviderProps>]>([
    ["nobody registered it", {}],
    ["only another is", { modals: { withdraw: Deposit } }],
    ["it is not allowed", { modals: { deposit: Deposit }, allow: { modals: ["withdraw"] } }],
  ])("is off when %s", async (_, props) => {
    await draw([deposit], props);
    expect(off()).toBe(true);
    expect(description(button())).toBe("That cannot be opened here.");
  });

  test("is on for a modal of the page's own, registered for every provider", async () => {
    registerModal("bridge", Deposit);
    await draw([item({ kind: "modal", name: "bridge" })]);
    await click();
    expect(await screen.findByText("{} from b_1")).toBeTruthy();
  });

  test("a name that no item could have is refused when it is registered", () => {
    expect(() => registerModal("Deposit", Deposit)).toThrow(/no name of a modal/);
    vi.spyOn(console, "error").mockImplementation(() => {});
    expect(() => show(null, { modals: { "a b": Deposit } })).toThrow(/no name of a modal/);
  });

  test("a name that every object has is none of a modal", async () => {
    await draw([item({ kind: "modal", name: "constructor" })]);
    expect(off()).toBe(true);
  });
});

describe("an item that leads elsewhere", () => {
  const external = (url: string) => item({ kind: "external", url });

  test("opens a new tab that knows nothing of this one", async () => {
    await draw([external("https://docs.example.com/a?b=1#c")], {
      allow: { link_hosts: ["*.example.com"] },
    });
    await click();
    await waitFor(() =>
      expect(opened).toHaveBeenCalledExactlyOnceWith(
        "https://docs.example.com/a?b=1#c",
        "_blank",
        "noopener,noreferrer",
      ),
    );
    expect(warned).not.toHaveBeenCalled();
  });

  test.each(["https://minara.ai/", "https://www.minara.ai/x", "https://agent.minara.ai:443/"])(
    "without a list may lead to the hosts of the protocol: %s",
    async (url) => {
      await draw([external(url)]);
      await click();
      await waitFor(() => expect(opened).toHaveBeenCalledOnce());
    },
  );

  test.each([
    ["https://x.minara.ai/", undefined],
    ["https://minara.ai.evil.test/", undefined],
    ["https://minara.ai:8443/", undefined],
    ["https://example.com/", ["www.example.com"]],
    ["https://minara.ai/", []],
  ])("to %s is refused, with a warning, when the hosts are %s", async (url, link_hosts) => {
    await draw([external(url)], { allow: { link_hosts } });
    expect(off()).toBe(false);
    await click();
    await waitFor(() => expect(warned).toHaveBeenCalledOnce());
    expect(warned.mock.calls[0]?.[0]).toMatch(/X1/);
    expect(opened).not.toHaveBeenCalled();
  });
});

describe("what was clicked", () => {
  const wallet = item({ kind: "route", target: "/wallet" });

  test("is reported with block, item and kind", async () => {
    await draw([wallet], { navigation: page() });
    await click();
    expect(sent).toEqual([
      {
        path: "/v1/telemetry/block-action",
        body: { blockId: "b_1", itemId: "next", action: "route" },
      },
    ]);
  });

  test.each<[string, () => Promise<Response>]>([
    ["fails", () => Promise.reject(new Error("offline"))],
    ["is refused", async () => new Response("{}", { status: 500 })],
    ["never ends", () => new Promise(() => {})],
  ])("is done also when the report %s", async (_, outcome) => {
    answer = outcome;
    const navigation = page();
    await draw([wallet], { navigation });
    await click();
    await waitFor(() => expect(navigation.navigate).toHaveBeenCalledOnce());
    expect(screen.queryByText(/wrong|reached/)).toBeNull();
  });
});

function OwnButton({
  item: own,
  done,
}: {
  item: FeatureRecommendationItem;
  done: (followed: boolean) => void;
}) {
  const { host } = useInlay();
  const shown = card(own);
  return (
    <button type="button" onClick={() => void host.follow(shown, own).then(done)}>
      Go on
    </button>
  );
}

describe("the gateway", () => {
  /** Follows an item past its button, as a renderer of one's own might. */
  async function follow(action: unknown) {
    const navigation = page();
    navigation.knows = () => true;
    const done = vi.fn();
    const own = { id: "next", label: "Go on", action } as FeatureRecommendationItem;
    show(<OwnButton item={own} done={done} />, { navigation, modals: { deposit: Deposit } });
    await click();
    await waitFor(() => expect(done).toHaveBeenCalledOnce());
    return { navigation, done: done.mock.calls[0]?.[0] };
  }

  test.each([
    { kind: "route", target: "//evil.test" },
    { kind: "route", target: "/a/%2e%2e/b" },
    { kind: "route", target: "/a?next=javascript:alert(1)" },
    { kind: "slash", command: "/buy 1\n/sell 1" },
    { kind: "modal", name: "deposit", params: JSON.parse('{"__proto__":{"x":1}}') },
    { kind: "modal", name: "withdraw" },
    { kind: "external", url: "javascript:alert(1)" },
    { kind: "run", code: "1" },
  ])("refuses $kind once more, whoever draws the button: %j", async (action) => {
    const { navigation, done } = await follow(action);
    expect(done).toBe(false);
    expect(warned).toHaveBeenCalledOnce();
    expect(navigation.navigate).not.toHaveBeenCalled();
    expect(navigation.prefill).not.toHaveBeenCalled();
    expect(opened).not.toHaveBeenCalled();
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  test("is open to renderers of one's own", async () => {
    const { navigation, done } = await follow({ kind: "route", target: "/any" });
    expect(done).toBe(true);
    expect(navigation.navigate).toHaveBeenCalledWith("/any");
  });
});

describe("a block of a type that nobody knows", () => {
  const unknown = block({ type: "acme.tools.bridge_quote", payload: { rate: 1 } });

  test("shows its text and, quietly, its type", () => {
    const { container } = show(<BlockView block={unknown} messageId="m_1" />);
    expect(screen.getByText("as text")).toBeTruthy();
    expect(screen.getByText("This page cannot show this kind of content.")).toBeTruthy();
    expect(screen.getByText("Type: acme.tools.bridge_quote")).toBeTruthy();
    expect(container.querySelector("[data-block-type='acme.tools.bridge_quote']")).toBeTruthy();
  });

  test("has a card that can be used alone", () => {
    show(<UnknownBlockCard block={unknown} messageId="m_1" />, { lang: "zh" });
    expect(screen.getByText("类型：acme.tools.bridge_quote")).toBeTruthy();
  });
});

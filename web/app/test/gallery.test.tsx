import { type Block, type Envelope, InlayClient, InlayError } from "@inlay-ui/client";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { answer, type Case, groupsOf, type Vectors, vectors } from "../src/gallery/cases.ts";
import { blockFrames, messageFrames } from "../src/gallery/frames.ts";
import { Gallery } from "../src/gallery/Gallery.tsx";
import { formatOptions, type Options, parseOptions } from "../src/gallery/options.ts";
import { LocalServer } from "../src/gallery/server.ts";
import { texts } from "../src/gallery/texts.ts";
import { block } from "./samples.ts";

afterEach(() => {
  cleanup();
  history.replaceState(null, "", "/");
});

const at = (address: string, languages: string[] = []) => {
  const url = new URL(address, "http://test/gallery");
  return parseOptions(url, languages);
};

describe("the address of a view", () => {
  it("is read with what is usual where it says nothing", () => {
    expect(at("", ["zh-TW"])).toEqual({
      types: [],
      case: null,
      lang: "zh",
      theme: "system",
      width: "720",
      outcome: "done",
      bare: false,
    });
  });

  it("takes nothing that it does not know", () => {
    const odd = at("?lang=xx&theme=pink&width=1&outcome=rain&bare=no&type=,all,&case=");
    expect(odd).toEqual(at(""));
  });

  it("prefers what stands behind the hash", () => {
    expect(at("?type=form&lang=zh#theme=dark&type=chart").types).toEqual(["chart"]);
    expect(at("?lang=en#/?lang=zh").lang).toBe("zh");
  });

  it("is written so that it reads the same", () => {
    const options: Options = {
      types: ["form", "acme.ticket"],
      case: "locked & late",
      lang: "zh",
      theme: "dark",
      width: "360",
      outcome: "failed",
      bare: true,
    };
    expect(at(formatOptions(options))).toEqual(options);
    expect(formatOptions(at("?lang=en"))).toBe("?lang=en");
  });
});

describe("words of the gallery", () => {
  it("are there in every language", () => {
    expect(Object.keys(texts.zh)).toEqual(Object.keys(texts.en));
    for (const words of Object.values(texts)) {
      for (const text of Object.values(words)) expect(text.trim()).not.toBe("");
    }
  });
});

const files: Vectors[] = [
  {
    name: "cards",
    type: "acme.card",
    version: 1,
    cases: [
      { name: "one", block: block({ id: "b_1", type: "acme.card", fallback: "a card" }) },
      { name: "one", block: block({ id: "b_1", type: "acme.card", fallback: "again" }) },
    ],
  },
  {
    name: "text",
    type: "text",
    version: 1,
    cases: [
      {
        name: "long",
        title: { en: "A long one", zh: "较长" },
        block: block({ id: "b_1", payload: "Hello **there**" }),
      },
    ],
  },
];

describe("cases", () => {
  it("are sorted by what is plain, and each block has an id of its own", () => {
    const groups = groupsOf(files);
    expect(groups.map((group) => group.type)).toEqual(["text", "acme.card"]);
    const blockIds = groups[1]?.cases.map((c) => c.message.blocks[0]?.id);
    expect(blockIds).toEqual(["b_acme-card-one", "b_acme-card-one-2"]);
  });

  it("ask what can still be answered, whenever they are looked at", () => {
    const asks = block({ type: "confirm", payload: { prompt: "Go on?", expiresAt: 1 } });
    const over = { ...asks, state: { status: "expired", locked: true } };
    const cases = [
      { name: "open", block: asks },
      { name: "over", block: over },
    ];
    const [group] = groupsOf([{ name: "confirm", type: "confirm", version: 1, cases }]);
    const [open, done] = group?.cases.map((c) => c.message.blocks[0]?.payload) ?? [];
    expect((open as { expiresAt: number }).expiresAt).toBeGreaterThan(Date.now());
    expect(done).toEqual(over.payload);
  });

  it("of the page itself have names and texts in every language", () => {
    for (const make of [blockFrames, messageFrames]) {
      const [en, zh] = [make("en"), make("zh")];
      expect(zh.cases.map((c) => c.name)).toEqual(en.cases.map((c) => c.name));
      expect(new Set(en.cases.map((c) => c.id)).size).toBe(en.cases.length);
      for (const { title } of en.cases) expect(title?.en && title.zh).toBeTruthy();
    }
    const statuses = new Set(messageFrames("en").cases.map((c) => c.message.status));
    expect([...statuses].sort()).toEqual(["cancelled", "done", "error", "paused", "running"]);
  });

  it("of the repository have ids of their own and blocks of their type", () => {
    const groups = groupsOf(vectors());
    const ids = groups.flatMap((group) => group.cases.map((c) => c.id));
    expect(new Set(ids).size).toBe(ids.length);
  });
});

function entry(id: string, change: Partial<Block> = {}): Case {
  const message = answer(id, { blocks: [block({ id: `b_${id}`, ...change })] });
  return { id, name: id, message, turn: false };
}

function open(cases: Case[], beyond?: typeof fetch) {
  const server = new LocalServer(cases, 0, beyond);
  return { server, client: new InlayClient({ fetch: server.fetch }) };
}

const submit = { id: "submit", label: "Submit", kind: "api" as const };
const request = { msgId: "m_f", blockId: "b_f", actionId: "submit", payload: { region: "east" } };

describe("the local server", () => {
  it("locks a form that was submitted, and says so to whoever comes later", async () => {
    const { server, client } = open([entry("f", { type: "form", actions: [submit] })]);
    const done = await client.action(request);
    expect(done).toMatchObject({ status: "done", block: { id: "b_f", rev: 2 } });
    const stored = await client.getMessage("m_f");
    expect(stored.status).toBe("done");
    expect(stored.blocks[0]?.state).toMatchObject({ locked: true, values: { region: "east" } });
    await expect(client.action(request)).rejects.toMatchObject({ code: "already_submitted" });
    expect(server.sent("m_f").map((sent) => sent.status)).toEqual([200, 409]);
    expect(server.sent("m_f")[0]).toMatchObject({ path: "/v1/chat/actions", body: request });
  });

  it("leaves blocks as they are whose actions can be done again", async () => {
    const { client } = open([entry("f", { type: "card", actions: [submit] })]);
    expect(await client.action(request)).toMatchObject({ status: "done", block: { rev: 1 } });
  });

  it.each([
    ["failed", "action_failed", { status: "failed" }],
    ["forbidden", "action_forbidden", undefined],
    ["taken", "already_submitted", { status: "done", locked: true }],
  ] as const)("refuses as it was told: %s", async (outcome, code, state) => {
    const { server, client } = open([entry("f", { type: "form", actions: [submit] })]);
    server.outcome = outcome;
    await expect(client.action(request)).rejects.toMatchObject({ code });
    const [after] = (await client.getMessage("m_f")).blocks;
    if (state) expect(after?.state).toMatchObject(state);
    else expect(after?.state).toBeUndefined();
  });

  it("asks first, and goes on with the token", async () => {
    const { server, client } = open([entry("f", { type: "form", actions: [submit] })]);
    server.outcome = "confirm";
    const refusal = await client.action(request).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(InlayError);
    const token = (refusal as InlayError).details?.confirmToken;
    const answer = client.action({ ...request, confirmToken: String(token) });
    await expect(answer).resolves.toMatchObject({ status: "done" });
  });

  it("goes on with a paused answer once it is answered", async () => {
    const paused = entry("f", { type: "confirm" });
    paused.message = { ...paused.message, status: "paused" };
    const { client } = open([paused]);
    const accepted = await client.action({ ...request, actionId: "reject" });
    expect(accepted).toMatchObject({ status: "accepted", msgId: "m_f" });
    await waitFor(async () => expect((await client.getMessage("m_f")).status).toBe("done"));
    const [after] = (await client.getMessage("m_f")).blocks;
    expect(after?.state).toMatchObject({ status: "answered", answer: "reject", locked: true });
  });

  it("loads failed data again, and fails again when told to", async () => {
    const failed = entry("f", {
      type: "metric",
      status: "error",
      payload: undefined,
      error: { code: "DATA_FETCH_FAILED", message: "", retryable: true },
    });
    const whole = entry("g", { type: "metric", payload: { items: [] } });
    const { server, client } = open([failed, whole]);
    const events = async () => {
      const seen: Envelope[] = [];
      for await (const event of client.retryBlock("b_f", { after: 1 })) seen.push(event);
      return seen.map((event) => event.event);
    };
    expect(await events()).toEqual(["block_start", "block_end", "done"]);
    const [after] = (await client.getMessage("m_f")).blocks;
    expect(after).toMatchObject({ status: "done", payload: { items: [] } });
    server.outcome = "failed";
    const { client: other, server: second } = open([failed, whole]);
    second.outcome = "failed";
    const seen: string[] = [];
    for await (const event of other.refreshBlock("b_f", { after: 1 })) seen.push(event.event);
    expect(seen).toEqual(["block_start", "block_error", "done"]);
  });

  it("has samples for the files that blocks name, and fetches nothing but their bytes", async () => {
    const beyond = vi.fn<typeof fetch>(async () => new Response("bytes"));
    const rows = [["Region"], ["East"], ["South"]];
    const file = { assetId: "a_1", name: "s.xlsx", mime: "application/vnd.ms-excel", size: 1 };
    const cases = [
      entry("f", {
        type: "file",
        payload: { ...file, preview: { kind: "table", rows, total: 40 } },
      }),
      entry("g", { type: "card", payload: { image: { assetId: "a_2", alt: "Hills" } } }),
    ];
    const { client } = open(cases, beyond);
    expect((await client.assetUrl("a_1")).url).toContain("sales");
    expect((await client.assetUrl("a_2")).url).toContain("hills");
    await expect(client.assetUrl("a_3")).rejects.toMatchObject({ status: 404 });
    const part = await client.assetPreview("a_1", { offset: 1, limit: 3 });
    expect(part).toMatchObject({ rows: [["East"], ["South"], ["East"]], offset: 1, more: true });
    const end = await client.assetPreview("a_1", { offset: 38, limit: 10 });
    expect(end).toMatchObject({ total: 40, more: false });
    expect(end.kind === "table" && end.rows.length).toBe(2);
    expect(beyond).not.toHaveBeenCalled();
    expect(await (await client.assetContent("a_1")).text()).toBe("bytes");
    expect(beyond).toHaveBeenCalledTimes(1);
    const added = await client.upload(new File(["x"], "n.txt", { type: "text/plain" }));
    expect(added).toMatchObject({ name: "n.txt", mime: "text/plain", size: 1 });
    expect((await client.assetUrl(added.id)).url).toContain("notes");
  });

  it("takes ratings and reports, and gives unknown paths back", async () => {
    const { server, client } = open([entry("f")]);
    await client.feedback("m_f", "down", "Too short");
    client.telemetry("b_f", "item", "open");
    await waitFor(() => expect(server.sent("m_f")).toHaveLength(2));
    expect(server.sent("m_f")[0]?.body).toEqual({ rating: "down", comment: "Too short" });
    await expect(client.asset("none")).rejects.toMatchObject({ status: 404 });
    expect(await client.trajectory("m_f")).toBeTruthy();
  });
});

describe("Gallery", () => {
  beforeEach(() => {
    vi.stubGlobal(
      "matchMedia",
      () => ({ matches: false, addEventListener() {}, removeEventListener() {} }) as unknown,
    );
  });
  afterEach(() => vi.unstubAllGlobals());

  const show = (query: string) => {
    history.replaceState(null, "", `/gallery${query}`);
    return render(<Gallery files={files} delayMs={0} />);
  };
  const cases = () =>
    [...document.querySelectorAll("[data-case]")].map((e) => e.getAttribute("data-case"));

  it("shows all cases, each under its name", async () => {
    show("?lang=en");
    await screen.findByText("A long one");
    const own = blockFrames("en").cases.length + messageFrames("en").cases.length;
    expect(cases()).toHaveLength(3 + own);
    expect(screen.getByRole("heading", { level: 1 }).textContent).toBe("Block gallery");
    expect(document.title).toContain("Block gallery");
  });

  it("shows one type, one case, or says that there is none", async () => {
    const { unmount } = show("?lang=zh&type=text,acme.card");
    await screen.findByText("较长");
    expect(cases()).toHaveLength(3);
    unmount();
    const one = show("?lang=en&type=message&case=failed&bare=1");
    await screen.findByText("The model service cannot be reached.");
    expect(cases()).toEqual(["message-failed"]);
    expect(screen.queryByLabelText("Type")).toBeNull();
    one.unmount();
    show("?lang=en&type=text&case=nothing");
    await screen.findByText("There is no such case.");
    fireEvent.click(screen.getByRole("button", { name: "Show all cases" }));
    await screen.findByText("A long one");
  });

  it("keeps what is chosen in the address", async () => {
    show("?lang=en");
    await screen.findByText("A long one");
    fireEvent.change(screen.getByLabelText("Type"), { target: { value: "message" } });
    fireEvent.change(screen.getByLabelText("Language"), { target: { value: "zh" } });
    await screen.findByText("刚开始");
    fireEvent.change(screen.getByLabelText("主题"), { target: { value: "dark" } });
    fireEvent.change(screen.getByLabelText("宽度"), { target: { value: "360" } });
    expect(location.search).toBe("?type=message&lang=zh&theme=dark&width=360");
    expect(document.querySelector(".inlay-root")?.getAttribute("data-theme")).toBe("dark");
    expect(document.querySelector(".gallery")?.getAttribute("data-width")).toBe("360");
    expect(document.documentElement.lang).toBe("zh-CN");
  });

  it("shows what a rating would send", async () => {
    show("?lang=en&type=message&case=done");
    fireEvent.click(await screen.findByRole("button", { name: "Good answer" }));
    const log = screen.getByRole("log", { name: "Would be sent" });
    await within(log).findByText("POST /v1/messages/m_message-done/feedback");
    expect(log.textContent).toContain('"rating": "up"');
  });
});

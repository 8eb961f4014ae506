import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Action, type Block, InlayClient, type Message } from "@inlay-ui/client";
import { act, cleanup, fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BlockView, useChat } from "../../src/index.ts";
import { show } from "../help.tsx";
import { FakeServer, refuse } from "../server.ts";

let server: FakeServer;
let message: string;

beforeEach(() => {
  server = new FakeServer();
  message = server.seed("Export?", "Fill this in.").assistant;
  localStorage.clear();
});
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const submit: Action = { id: "submit", label: "Send request", kind: "api" };
const exportForm = {
  title: "Export all rows",
  schema: {
    type: "object",
    required: ["range"],
    properties: {
      range: {
        type: "array",
        title: "Period",
        items: { type: "string", format: "date" },
        minItems: 2,
        maxItems: 2,
      },
      reason: { type: "string", title: "Reason", maxLength: 10 },
      secret: { type: "string", title: "PIN" },
    },
  },
  uiSchema: {
    range: { "ui:widget": "dateRange" },
    reason: { "ui:widget": "textarea", "ui:help": "For the records." },
    secret: { "ui:widget": "password" },
  },
  defaults: { range: ["2026-07-01", "2026-09-30"] },
};

function give(payload: object, change: Partial<Block> = {}, actions: Action[] = [submit]) {
  const { id = "b_form", type = "form", state } = change;
  server.again(message);
  server.emit(message, "block_end", { type, version: 1, payload, actions, state }, id);
  server.emit(message, "done", { finishReason: "stop" });
}

function Chat() {
  const { messages } = useChat({ conversationId: "c_1" });
  return messages.flatMap((m: Message) =>
    m.blocks.map((b) => <BlockView key={b.id} block={b} messageId={m.id} />),
  );
}

const client = () => new InlayClient({ fetch: server.fetch });
async function open(lang = "en-GB") {
  const shown = show(<Chat />, { client: client(), lang });
  await waitFor(() => expect(document.querySelector("form, [data-locked]")).not.toBeNull());
  return shown;
}
const next = (answer: () => Response | Promise<Response>) =>
  server.instead.push({ match: "POST /v1/chat/actions", answer });
const answered = (state: object, rev = 2, id = "b_form") => {
  server.again(message);
  server.emit(message, "block_state", { state, rev }, id);
  server.emit(message, "done", { finishReason: "stop" });
  return Response.json({
    status: "done",
    msgId: message,
    conversationId: "c_1",
    block: { id, rev, state },
  });
};
const sentState = {
  status: "done",
  locked: true,
  actionId: "submit",
  at: Date.UTC(2026, 6, 1, 10),
  values: { range: ["2026-07-01", "2026-09-30"], reason: "Review" },
  text: "Request S-42 is on its way",
};
const press = (name: string | RegExp) =>
  act(async () => fireEvent.click(screen.getByRole("button", { name })));
const type = (label: string | RegExp, text: string) =>
  act(async () => void fireEvent.change(screen.getByLabelText(label), { target: { value: text } }));

describe("a form", () => {
  test("is filled in, sent, and then shows what was sent", async () => {
    give(exportForm);
    await open();
    expect(screen.getByRole("heading", { name: "Export all rows" })).toBeTruthy();
    expect(screen.getByLabelText<HTMLInputElement>("From").value).toBe("2026-07-01");
    expect(screen.getByText("For the records.")).toBeTruthy();
    await type("Reason", "Review");
    await type("PIN", "1234");
    next(() => answered(sentState));
    await press("Send request");
    expect(await screen.findByText("Request S-42 is on its way")).toBeTruthy();
    expect(server.actions[0]).toMatchObject({
      blockId: "b_form",
      actionId: "submit",
      payload: { range: ["2026-07-01", "2026-09-30"], reason: "Review", secret: "1234" },
    });
    expect(document.querySelector("form")).toBeNull();
    const values = Array.from(document.querySelectorAll(".inlay-value")).map((v) => v.textContent);
    expect(values).toEqual(["Period1 Jul 2026 – 30 Sept 2026", "ReasonReview"]);
    expect(document.querySelector("time[datetime='2026-07-01T10:00:00.000Z']")).not.toBeNull();
  });

  test("says what is wrong at the fields and in a summary, and leads to the first", async () => {
    give({ ...exportForm, defaults: {} });
    await open();
    await type("Reason", "much too long");
    await press("Send request");
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain("2 entries need another look");
    expect(within(alert).getByText("Period: Fill this in.")).toBeTruthy();
    expect(document.activeElement?.id).toMatch(/_range-from$/);
    const reason = screen.getByLabelText("Reason");
    expect(reason.getAttribute("aria-invalid")).toBe("true");
    const described = (reason.getAttribute("aria-describedby") ?? "").split(" ");
    const words = described.map((id) => document.getElementById(id)?.textContent).join(" ");
    expect(words).toContain("At most 10 characters.");
    expect(words).toContain("For the records.");
    await press("Reason: At most 10 characters.");
    expect(document.activeElement).toBe(reason);
    await type("Reason", "short");
    expect(screen.getByRole("alert").textContent).toContain("1 entry needs");
    expect(server.actions).toHaveLength(0);
  });

  test("speaks Chinese", async () => {
    give({ ...exportForm, defaults: {} });
    await open("zh");
    await press("Send request");
    expect((await screen.findByRole("alert")).textContent).toContain("Period：请填写此项。");
  });

  test("shows what only the server finds wrong at its field", async () => {
    give(exportForm);
    await open();
    const violations = [{ path: "/reason", message: "This reason is not known." }];
    next(() => refuse(400, "action_payload_invalid", { violations }));
    await press("Send request");
    expect(await screen.findAllByText("This reason is not known.")).toHaveLength(2);
    expect(document.activeElement).toBe(screen.getByLabelText("Reason"));
    await type("Reason", "other");
    expect(screen.queryByText("This reason is not known.")).toBeNull();
    next(() => answered(sentState));
    await press("Send request");
    expect(await screen.findByText("Request S-42 is on its way")).toBeTruthy();
  });

  test("can be sent again after a failure; what did not arrive goes under the same key", async () => {
    give(exportForm, {}, [{ ...submit, feedback: { failureToast: "Not sent." } }]);
    await open();
    vi.spyOn(navigator, "onLine", "get").mockReturnValue(false);
    await press("Send request");
    expect((await screen.findByRole("alert")).textContent).toMatch(/Not sent. You are offline/);
    vi.spyOn(navigator, "onLine", "get").mockReturnValue(true);
    next(() => refuse(503, "shutting_down"));
    next(() => refuse(502, "action_failed", { feedback: { failureToast: "Refused." } }));
    await press("Send request");
    expect(await screen.findByText("Refused.", undefined, { timeout: 5_000 })).toBeTruthy();
    next(() => answered(sentState));
    await press("Send request");
    expect(await screen.findByText("Request S-42 is on its way")).toBeTruthy();
    const keys = server.actions.map((a) => a.idempotencyKey);
    expect(keys).toHaveLength(3);
    expect(keys[0]).toBe(keys[1]);
    expect(keys[2]).not.toBe(keys[1]);
  });

  test("keeps what was typed while it is sent, also if that fails", async () => {
    give(exportForm);
    await open();
    await type("Reason", "Review");
    let answer = () => {};
    next(
      () =>
        new Promise((resolve) => {
          answer = () => {
            server.again(message);
            server.emit(
              message,
              "block_state",
              { state: { status: "submitting", locked: true }, rev: 2 },
              "b_form",
            );
            server.emit(
              message,
              "block_state",
              { state: { status: "failed", locked: false, text: "Refused." }, rev: 3 },
              "b_form",
            );
            server.emit(message, "done", { finishReason: "stop" });
            resolve(refuse(502, "action_failed"));
          };
        }),
    );
    await press("Send request");
    expect(screen.getByLabelText<HTMLTextAreaElement>("Reason").disabled).toBe(true);
    expect(screen.getByRole("button", { name: "Send request…" })).toBeTruthy();
    await act(async () => answer());
    await waitFor(() => expect(screen.getByRole("button", { name: "Send request" })).toBeTruthy());
    expect(screen.getByLabelText<HTMLTextAreaElement>("Reason").value).toBe("Review");
  });

  test("that was sent from elsewhere meanwhile says so and shows what was typed here", async () => {
    give(exportForm);
    await open();
    await waitFor(() => expect(server.open("feed")).toBe(1));
    await type("Reason", "mine");
    await act(async () => void answered(sentState));
    expect(await screen.findByText(/sent from another place meanwhile/)).toBeTruthy();
    const mine = screen.getByText("What you had entered here").closest("details");
    expect(mine?.textContent).toContain("mine");
    expect(screen.getByText("Request S-42 is on its way")).toBeTruthy();
  });

  test("that is sent already is locked from the start", async () => {
    give(exportForm, { state: { ...sentState, status: "unknown", text: undefined } });
    await open();
    expect(document.querySelector("form")).toBeNull();
    expect(screen.getByText(/not certain whether this was received/)).toBeTruthy();
  });

  test("without an action says that it cannot be sent", async () => {
    give(exportForm, {}, []);
    await open();
    expect(screen.getByText("This form cannot be sent.")).toBeTruthy();
  });
});

describe("a draft", () => {
  test("survives a reload without its passwords, and goes when the form is sent", async () => {
    give(exportForm);
    const { unmount } = await open();
    await type("Reason", "half");
    await type("PIN", "1234");
    unmount();
    expect(localStorage.getItem("inlay:draft:b_form")).toContain("half");
    expect(JSON.stringify({ ...localStorage })).not.toContain("1234");
    await open();
    expect(screen.getByLabelText<HTMLTextAreaElement>("Reason").value).toBe("half");
    expect(screen.getByLabelText<HTMLInputElement>("PIN").value).toBe("");
    expect(screen.getByText(/entered before is kept/)).toBeTruthy();
    next(() => answered(sentState));
    await press("Send request");
    await screen.findByText("Request S-42 is on its way");
    expect(localStorage.length).toBe(0);
  });

  test("can be thrown away", async () => {
    localStorage.setItem(
      "inlay:draft:b_form",
      JSON.stringify({ at: 1, values: { reason: "old" } }),
    );
    give(exportForm);
    await open();
    await press("Start over");
    expect(screen.getByLabelText<HTMLTextAreaElement>("Reason").value).toBe("");
    expect(localStorage.length).toBe(0);
  });

  test("that is broken does no harm", async () => {
    localStorage.setItem("inlay:draft:b_form", "{");
    give(exportForm);
    await open();
    expect(screen.getByLabelText("Reason")).toBeTruthy();
  });
});

describe("fields", () => {
  const one = (properties: object, uiSchema: object = {}, more: object = {}) =>
    give({ title: "T", schema: { type: "object", properties, ...more }, uiSchema });
  const sends = async (payload: unknown) => {
    next(() => answered(sentState));
    await press("Send request");
    await waitFor(() => expect(server.actions).toHaveLength(1));
    expect(server.actions[0]?.payload).toEqual(payload);
  };

  test("of every kind give what the schema wants", async () => {
    one(
      {
        text: { type: "string", title: "Text" },
        whole: { type: "integer", title: "Whole" },
        level: { type: "number", title: "Level", minimum: 0, maximum: 10 },
        region: { type: "string", title: "Region", enum: ["e", "s"] },
        size: { type: "integer", title: "Size", enum: [1, 2] },
        parts: {
          type: "array",
          title: "Parts",
          uniqueItems: true,
          items: { type: "string", enum: ["a", "b", "c"] },
        },
        on: { type: "boolean", title: "On" },
        terms: { type: "boolean", title: "Terms" },
        day: { type: "string", title: "Day", format: "date" },
        at: { type: "string", title: "At", format: "date-time" },
        wall: { type: "string", title: "Wall", format: "iso-date-time" },
        clock: { type: "string", title: "Clock", format: "iso-time" },
        paint: { type: "string", title: "Paint", format: "color" },
        hidden: { type: "string", default: "h" },
        trip: {
          type: "object",
          title: "Trip",
          properties: {
            start: { type: "string", format: "date" },
            end: { type: "string", format: "date" },
          },
        },
      },
      {
        level: { "ui:widget": "range", "ui:unit": "km" },
        region: {
          "ui:widget": "select",
          "ui:enumNames": ["East", "South"],
          "ui:placeholder": "Where?",
        },
        size: { "ui:widget": "radio", "ui:enumNames": ["Small", "Large"] },
        parts: { "ui:widget": "checkboxes", "ui:enumNames": ["Ay", "Bee", "Cee"] },
        on: { "ui:widget": "switch" },
        paint: { "ui:widget": "color" },
        hidden: { "ui:widget": "hidden" },
        trip: { "ui:widget": "dateRange" },
        text: { "ui:autocomplete": "given-name", "ui:prefix": "@" },
      },
    );
    await open();
    expect(screen.getByText("@")).toBeTruthy();
    const text = screen.getByLabelText("Text");
    expect(text.getAttribute("autocomplete")).toBe("given-name");
    await type("Text", "x");
    await type("Whole", "7");
    await type("Level", "4");
    expect(screen.getByText("4 km")).toBeTruthy();
    expect(screen.getByText("Where?")).toBeTruthy();
    await type("Region", "1");
    expect(screen.getByRole("radiogroup", { name: "Size" })).toBeTruthy();
    await act(async () => fireEvent.click(screen.getByLabelText("Large")));
    expect(screen.getByRole("group", { name: "Parts" })).toBeTruthy();
    await act(async () => fireEvent.click(screen.getByLabelText("Cee")));
    await act(async () => fireEvent.click(screen.getByLabelText("Ay")));
    await act(async () => fireEvent.click(screen.getByRole("switch", { name: "On" })));
    await act(async () => fireEvent.click(screen.getByRole("checkbox", { name: "Terms" })));
    await type("Day", "2026-07-01");
    await type("At", "2026-07-01T10:30");
    await type("Wall", "2026-07-01T10:30");
    await type("Clock", "08:15");
    await type("Paint", "#2b63a8");
    await type("From", "2026-08-01");
    await type("To", "2026-08-09");
    await sends({
      text: "x",
      whole: 7,
      level: 4,
      region: "s",
      size: 2,
      parts: ["a", "c"],
      on: true,
      terms: true,
      day: "2026-07-01",
      at: new Date(2026, 6, 1, 10, 30).toISOString().replace(".000Z", "Z"),
      wall: "2026-07-01T10:30",
      clock: "08:15",
      paint: "#2b63a8",
      hidden: "h",
      trip: { start: "2026-08-01", end: "2026-08-09" },
    });
  });

  test("of plain choices need no type", async () => {
    const choice = (value: unknown, title: string) => ({ const: value, title });
    one(
      {
        plan: { title: "Plan", oneOf: [choice("s", "Small"), choice("l", "Large")] },
        count: { title: "Count", anyOf: [choice(1, "One"), choice(2, "Two")] },
        code: { title: "Code", enum: ["x", "y"] },
      },
      { plan: { "ui:widget": "radio" } },
    );
    await open();
    await act(async () => fireEvent.click(screen.getByLabelText("Large")));
    await type("Count", "1");
    await type("Code", "0");
    await sends({ plan: "l", count: 2, code: "x" });
  });

  test("that are left empty are not sent", async () => {
    one({
      a: { type: "string", title: "A" },
      b: {
        type: "object",
        title: "B",
        properties: { c: { type: "string", title: "C" } },
        required: ["c"],
      },
    });
    await open();
    await type("A", "x");
    await type("A", "");
    await sends({});
  });

  test("in rows are added, moved and removed", async () => {
    one({
      lines: {
        type: "array",
        title: "Lines",
        items: { type: "object", properties: { sku: { type: "string", title: "Sku" } } },
      },
    });
    await open();
    expect(screen.getByText("No entries yet.")).toBeTruthy();
    for (const sku of ["a", "b", "c"]) {
      await press("Add");
      const fields = screen.getAllByLabelText("Sku");
      await act(
        async () => void fireEvent.change(fields.at(-1) as HTMLElement, { target: { value: sku } }),
      );
    }
    await press("Move entry 3 up");
    await press("Remove entry 1");
    await sends({ lines: [{ sku: "c" }, { sku: "b" }] });
  });

  test("come and go with what is chosen, and take their values with them", async () => {
    one(
      { kind: { type: "string", title: "Kind", enum: ["plain", "other"] } },
      {},
      {
        if: { properties: { kind: { const: "other" } }, required: ["kind"] },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { properties: { why: { type: "string", title: "Why" } }, required: ["why"] },
      },
    );
    await open();
    expect(screen.queryByLabelText("Why")).toBeNull();
    await type("Kind", "1");
    await press("Send request");
    expect(await screen.findByText("Why: Fill this in.")).toBeTruthy();
    await type(/^Why/, "because");
    await type("Kind", "0");
    expect(screen.queryByLabelText(/^Why/)).toBeNull();
    await sends({ kind: "plain" });
  });

  test("take files, which are stored at once", async () => {
    one(
      { doc: { type: "string", title: "Document", format: "asset" } },
      { doc: { "ui:widget": "file", "ui:accept": ".pdf" } },
      { required: ["doc"] },
    );
    await open();
    const id = "a_00000000-0000-7000-8000-000000000001";
    server.instead.push({
      match: "POST /v1/assets",
      answer: () =>
        Response.json({ id, name: "plan.pdf", mime: "application/pdf", size: 3 }, { status: 201 }),
    });
    server.instead.push({
      match: `GET /v1/assets/${id}`,
      answer: () => Response.json({ id, name: "plan.pdf" }),
    });
    const input = screen.getByLabelText<HTMLInputElement>(/Document/);
    expect(input.accept).toBe(".pdf");
    await userEvent.upload(input, new File(["pdf"], "plan.pdf", { type: "application/pdf" }));
    expect(await screen.findByText("plan.pdf")).toBeTruthy();
    await sends({ doc: id });
  });

  test("say when a file was not taken", async () => {
    one({ doc: { type: "string", title: "Document", format: "asset" } });
    await open();
    server.instead.push({ match: "POST /v1/assets", answer: () => refuse(413, "asset_too_large") });
    await userEvent.upload(
      screen.getByLabelText<HTMLInputElement>("Document"),
      new File(["x"], "big.pdf", { type: "application/pdf" }),
    );
    expect(await screen.findByText(/too large/i)).toBeTruthy();
  });

  test("are not styled or broken by what a uiSchema should not say", async () => {
    one(
      {
        a: { type: "string", title: "A", description: "<b>bold</b> *x*" },
        n: { type: "integer", title: "N" },
      },
      {
        a: {
          "ui:widget": "hologram",
          "ui:style": { color: "red" },
          "ui:classNames": "evil",
          "ui:enableMarkdownInDescription": true,
          "ui:field": "SchemaField",
        },
        n: { "ui:widget": "dateRange" },
      },
    );
    const { container } = await open();
    expect(screen.getByText("<b>bold</b> *x*")).toBeTruthy();
    expect(container.querySelector(".evil, b, [style*=color]")).toBeNull();
    expect(screen.getByLabelText("N")).toBeTruthy();
  });
});

interface Vectors {
  cases: { name: string; block: Block }[];
}
const gallery: Vectors = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../../../../testdata/gallery/form.json"), "utf8"),
);

describe("sample forms", () => {
  test.each(gallery.cases.map((c) => [c.name, c.block] as const))("%s", async (_, block) => {
    vi.spyOn(console, "error");
    const { container } = show(<BlockView block={block} messageId="m_1" />, { client: client() });
    await waitFor(() => expect(container.querySelector(".inlay-skeleton")).toBeNull(), {
      timeout: block.status === "loading" ? 1 : 10_000,
    }).catch((error: unknown) => {
      if (block.status !== "loading") throw error;
    });
    expect(container.textContent).not.toContain("could not be drawn");
    expect(console.error).not.toHaveBeenCalled();
  });
});

import { type Asset, InlayClient } from "@inlay-ui/client";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createRef } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import Attachments, { type AttachmentsHandle } from "../src/components/Attachments.tsx";
import { attachmentBlock } from "../src/transcript.ts";
import { accepted, type UploadLimits, Uploads } from "../src/uploads.ts";

const limits: UploadLimits = {
  enabled: true,
  maxBytes: 1000,
  maxFiles: 3,
  accept: ["image/*", "text/csv"],
};

const asset = (change: Partial<Asset> = {}): Asset => ({
  id: "a_1",
  name: "q3.csv",
  mime: "text/csv",
  size: 5,
  status: "ready",
  createdAt: "2026-03-02T09:30:00Z",
  ...change,
});

/** A client whose uploads the test answers, one promise each. */
function held() {
  const uploads: {
    file: Blob;
    progress: (loaded: number, total: number) => void;
    signal: AbortSignal | undefined;
    done: (asset: Asset) => void;
    fail: (error: unknown) => void;
  }[] = [];
  const client = new InlayClient({ fetch: () => Promise.reject(new Error("no network")) });
  client.upload = (file, options = {}) =>
    new Promise((done, fail) => {
      options.signal?.addEventListener("abort", () => fail(options.signal?.reason));
      uploads.push({
        file,
        progress: (loaded, total) => options.onProgress?.({ loaded, total }),
        signal: options.signal,
        done,
        fail,
      });
    });
  const deleted: string[] = [];
  client.deleteAsset = async (id) => {
    deleted.push(id);
  };
  return { client, uploads, deleted };
}

const csv = (name = "q3.csv", bytes = 5) =>
  new File(["x".repeat(bytes)], name, { type: "text/csv" });

beforeEach(() => {
  URL.createObjectURL = () => "blob:picture";
  URL.revokeObjectURL = vi.fn();
});

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("what is taken", () => {
  it("follows the server's list of types, and leaves to the server what a browser cannot tell", () => {
    expect(accepted("a.png", "image/png", limits.accept)).toBe(true);
    expect(accepted("a.csv", "text/csv; charset=utf-8", limits.accept)).toBe(true);
    expect(accepted("a.zip", "application/zip", limits.accept)).toBe(false);
    expect(accepted("a.parquet", "", limits.accept)).toBe(true);
    expect(accepted("a.zip", "application/zip", [])).toBe(true);
    expect(accepted("A.CSV", "application/zip", [".csv"])).toBe(true);
  });

  it("keeps to the limits before a byte is sent, and names what is left out", () => {
    const { client, uploads } = held();
    const store = new Uploads(client, limits);
    store.add([
      csv("large.csv", 1001),
      csv("empty.csv", 0),
      new File(["x"], "a.zip", { type: "application/zip" }),
      csv("1.csv"),
      csv("2.csv"),
      csv("3.csv"),
      csv("4.csv"),
    ]);
    expect(store.getState().refused).toEqual([
      { name: "large.csv", why: "tooLarge" },
      { name: "empty.csv", why: "empty" },
      { name: "a.zip", why: "type" },
      { name: "4.csv", why: "tooMany" },
    ]);
    expect(uploads).toHaveLength(3);
  });
});

describe("an upload", () => {
  it("goes from its first byte to a file that a message can name", async () => {
    const { client, uploads } = held();
    const store = new Uploads(client, limits);
    store.add([csv()]);
    uploads[0]?.progress(1, 4);
    expect(store.getState().items[0]).toMatchObject({ status: "sending", share: 0.25 });
    uploads[0]?.done(asset());
    await waitFor(() => expect(store.getState().items[0]?.status).toBe("done"));
    const taken = store.take();
    expect(taken.map((one) => one.asset?.id)).toEqual(["a_1"]);
    expect(store.getState().items).toEqual([]);
    store.restore(taken);
    expect(store.getState().items).toHaveLength(1);
  });

  it("waits until the server has looked into the file", async () => {
    vi.useFakeTimers();
    const { client, uploads } = held();
    const answers = [asset({ status: "scanning" }), asset({ status: "infected" })];
    client.asset = async () => answers.shift() ?? asset();
    const store = new Uploads(client, limits);
    store.add([csv()]);
    uploads[0]?.done(asset({ status: "scanning" }));
    await vi.advanceTimersByTimeAsync(500);
    expect(store.getState().items[0]?.status).toBe("checking");
    await vi.advanceTimersByTimeAsync(2_000);
    expect(store.getState().items[0]).toMatchObject({
      status: "failed",
      error: "asset_infected",
      again: false,
    });
  });

  it("that failed can be tried again", async () => {
    const { client, uploads } = held();
    const store = new Uploads(client, limits);
    store.add([csv()]);
    uploads[0]?.fail({ code: "network", retryable: true });
    await waitFor(() =>
      expect(store.getState().items[0]).toMatchObject({ status: "failed", again: true }),
    );
    store.retry(store.getState().items[0]?.key ?? 0);
    expect(store.getState().items[0]?.status).toBe("sending");
    uploads[1]?.done(asset());
    await waitFor(() => expect(store.getState().items[0]?.status).toBe("done"));
  });

  it("that is taken out is ended, and one that was complete is deleted", async () => {
    const { client, uploads, deleted } = held();
    const store = new Uploads(client, limits);
    store.add([csv("a.csv"), csv("b.csv")]);
    uploads[1]?.done(asset({ id: "a_2" }));
    await waitFor(() => expect(store.getState().items[1]?.status).toBe("done"));
    for (const { key } of store.getState().items) store.remove(key);
    expect(store.getState().items).toEqual([]);
    expect(uploads[0]?.signal?.aborted).toBe(true);
    expect(deleted).toEqual(["a_2"]);
  });
});

describe("the attachments of a message", () => {
  function setup(change: Partial<UploadLimits> = {}) {
    const { client, uploads } = held();
    const handle = createRef<AttachmentsHandle>();
    const field = createRef<HTMLTextAreaElement>();
    const said: string[] = [];
    const ready: boolean[] = [];
    const at = (draft: string) => (
      <div className="page">
        <Attachments
          client={client}
          limits={allLimits}
          draft={draft}
          field={field}
          handle={handle}
          onReady={onReady}
          announce={announce}
        />
        <textarea ref={field} aria-label="Message" />
      </div>
    );
    const allLimits = { ...limits, ...change };
    const onReady = (now: boolean) => ready.push(now);
    const announce = (text: string) => said.push(text);
    const view = render(at("one"));
    return {
      uploads,
      handle,
      said,
      ready,
      switchTo: (draft: string) => view.rerender(at(draft)),
      choose: (...files: File[]) => {
        const input = document.querySelector("input[type=file]");
        if (input) fireEvent.change(input, { target: { files } });
      },
    };
  }

  it("are chosen by a button, shown with their progress, and said to be ready", async () => {
    const { uploads, choose, said, ready } = setup();
    expect(screen.getByRole("button", { name: "Attach files" })).toBeTruthy();
    choose(csv());
    const list = screen.getByRole("list", { name: "Attached files" });
    expect(within(list).getByText("0%")).toBeTruthy();
    expect(ready.at(-1)).toBe(false);
    uploads[0]?.progress(3, 4);
    expect(await within(list).findByText("75%")).toBeTruthy();
    uploads[0]?.done(asset());
    expect(await within(list).findByText("5 bytes")).toBeTruthy();
    expect(said).toContain("q3.csv is attached");
    expect(ready.at(-1)).toBe(true);
    // The field keeps the focus, so that the message can be written on.
    expect(document.activeElement).toBe(screen.getByLabelText("Message"));
  });

  it("are named when they are not taken", () => {
    const { choose } = setup();
    choose(csv("large.csv", 1001));
    expect(screen.getByRole("alert").textContent).toBe(
      "large.csv is too large. A file may have at most 1,000 bytes.",
    );
  });

  it("say what went wrong, and are removed by keyboard with the focus kept near", async () => {
    const { uploads, choose, said } = setup();
    choose(csv("a.csv"), csv("b.csv"));
    uploads[0]?.fail({ code: "asset_quota", retryable: false });
    expect(await screen.findByText("Your space for files is full")).toBeTruthy();
    expect(said).toContain("a.csv: Your space for files is full");
    expect(screen.queryByRole("button", { name: "Upload a.csv again" })).toBeNull();
    screen.getByRole("button", { name: "Remove a.csv" }).focus();
    await userEvent.keyboard("{Enter}");
    await waitFor(() =>
      expect(document.activeElement?.getAttribute("aria-label")).toBe("Cancel uploading b.csv"),
    );
    await userEvent.keyboard("{Enter}");
    await waitFor(() => expect(document.activeElement).toBe(screen.getByLabelText("Message")));
    expect(screen.queryByRole("list")).toBeNull();
  });

  it("can be dropped anywhere on the page", () => {
    const { uploads } = setup();
    const dataTransfer = { types: ["Files"], files: [csv()] };
    fireEvent.dragEnter(document.body, { dataTransfer });
    expect(screen.getByText("Drop files to attach them")).toBeTruthy();
    // Prevented, so that the browser does not leave for the file.
    expect(fireEvent.dragOver(document.body, { dataTransfer })).toBe(false);
    expect(fireEvent.drop(document.body, { dataTransfer })).toBe(false);
    expect(screen.queryByText("Drop files to attach them")).toBeNull();
    expect(uploads).toHaveLength(1);
    // Text that is dragged is not ours.
    expect(fireEvent.dragOver(document.body, { dataTransfer: { types: ["text/plain"] } })).toBe(
      true,
    );
  });

  it("can be pasted, but text with a picture beside it stays text", () => {
    const { uploads } = setup();
    const field = screen.getByLabelText("Message");
    const picture = new File(["x"], "image.png", { type: "image/png" });
    const both = { types: ["text/plain", "Files"], files: [picture] };
    expect(fireEvent.paste(field, { clipboardData: both })).toBe(true);
    expect(uploads).toHaveLength(0);
    const alone = { types: ["Files"], files: [picture] };
    expect(fireEvent.paste(field, { clipboardData: alone })).toBe(false);
    expect(uploads).toHaveLength(1);
  });

  it("belong to the draft that they were added to", () => {
    const { choose, switchTo } = setup();
    choose(csv());
    switchTo("two");
    expect(screen.queryByRole("list")).toBeNull();
    switchTo("one");
    expect(screen.getByText("q3.csv")).toBeTruthy();
  });

  it("are taken by the message that is sent, and given back when it was not", async () => {
    const { uploads, handle, choose } = setup();
    choose(csv());
    uploads[0]?.done(asset());
    await screen.findByText("5 bytes");
    const taken = handle.current?.take() ?? [];
    expect(taken).toHaveLength(1);
    await waitFor(() => expect(screen.queryByRole("list")).toBeNull());
    handle.current?.restore("one", taken);
    expect(await screen.findByText("q3.csv")).toBeTruthy();
  });
});

describe("a message that is sent", () => {
  it("shows its files before the server has answered", () => {
    expect(attachmentBlock(asset())).toMatchObject({
      type: "file",
      status: "done",
      payload: { assetId: "a_1", name: "q3.csv", mime: "text/csv", size: 5 },
    });
    const picture = asset({ id: "a_2", name: "a.png", mime: "image/png", width: 4, height: 3 });
    expect(attachmentBlock(picture)).toMatchObject({
      type: "image",
      payload: { assetId: "a_2", alt: "a.png", width: 4, height: 3 },
    });
  });
});

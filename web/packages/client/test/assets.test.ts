import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { InlayClient, InlayError } from "../src/index.ts";

interface Call {
  url: string;
  method: string;
  headers: Headers;
  body: unknown;
}

/** A client whose requests are answered one after the other. */
function served(...answers: (() => Response)[]) {
  const calls: Call[] = [];
  const client = new InlayClient({
    endpoint: "https://chat.example",
    headers: () => ({ Authorization: "Bearer t" }),
    fetch: (async (input: RequestInfo | URL, init: RequestInit = {}) => {
      const { method = "GET", headers, body } = init;
      calls.push({ url: String(input), method, headers: new Headers(headers), body });
      const answer = answers.shift();
      if (!answer) throw new Error(`unexpected request of ${String(input)}`);
      return answer();
    }) as typeof fetch,
  });
  return { client, calls };
}

/** The file in a request's form. */
function sentFile(call: Call | undefined): File {
  const file = call?.body instanceof FormData ? call.body.get("file") : null;
  if (!(file instanceof File)) throw new Error("no file was sent");
  return file;
}

const asset = { id: "a_1", name: "q3.csv", mime: "text/csv", size: 5, status: "ready" };
const address = (n: number, seconds: number) => () =>
  Response.json({
    url: `/v1/assets/a_1/content?sig=${n}`,
    expiresAt: Date.now() + seconds * 1000,
    disposition: "inline",
  });
const refusal = (status: number, code: string) => () =>
  Response.json({ error: { code, message: code, retryable: false } }, { status });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("upload", () => {
  test("sends the bytes as a form, with the caller's credentials", async () => {
    const { client, calls } = served(() => Response.json(asset, { status: 201 }));
    client.blocks = ["chart@1"];
    const seen: number[] = [];
    const file = new File(["a,b\n1"], "q3.csv", { type: "text/csv" });
    expect(await client.upload(file, { onProgress: (p) => seen.push(p.loaded) })).toEqual(asset);
    const [call] = calls;
    expect(call?.url).toBe("https://chat.example/v1/assets");
    expect(call?.method).toBe("POST");
    expect(call?.headers.get("Authorization")).toBe("Bearer t");
    // The browser writes the type with the form's boundary.
    expect(call?.headers.has("Content-Type")).toBe(false);
    const sent = sentFile(call);
    expect([sent.name, await sent.text()]).toEqual(["q3.csv", "a,b\n1"]);
    expect(seen).toEqual([5]);
  });

  test("takes a name for bytes that have none", async () => {
    const { client, calls } = served(() => Response.json(asset, { status: 201 }));
    await client.upload(new Blob(["x"]), { name: "截图.png" });
    expect(sentFile(calls[0]).name).toBe("截图.png");
  });

  test("says why the server refused", async () => {
    const { client } = served(refusal(413, "asset_too_large"));
    await expect(client.upload(new Blob(["x"]))).rejects.toMatchObject({
      code: "asset_too_large",
      status: 413,
    });
  });

  /** A stand-in for the browser's object: the test plays the server. */
  class FakeXhr {
    static last: FakeXhr | undefined;
    upload: { onprogress?: (event: { loaded: number; total: number }) => void } = {};
    headers: Record<string, string> = {};
    withCredentials = false;
    status = 0;
    responseText = "";
    onload?: () => void;
    onerror?: () => void;
    onabort?: () => void;
    onloadend?: () => void;
    body: unknown;
    constructor() {
      FakeXhr.last = this;
    }
    open() {}
    setRequestHeader(name: string, value: string) {
      this.headers[name] = value;
    }
    send(body: unknown) {
      this.body = body;
    }
    abort() {
      this.onabort?.();
      this.onloadend?.();
    }
    answer(status: number, body: unknown) {
      this.status = status;
      this.responseText = JSON.stringify(body);
      this.onload?.();
      this.onloadend?.();
    }
  }

  function lastXhr(): FakeXhr {
    if (!FakeXhr.last) throw new Error("nothing was sent");
    return FakeXhr.last;
  }

  /** Begins an upload in a page and waits until it is on its way. */
  async function begin(options: Parameters<InlayClient["upload"]>[1] = {}) {
    vi.stubGlobal("XMLHttpRequest", FakeXhr);
    const client = new InlayClient({ headers: () => ({ Authorization: "Bearer t" }) });
    FakeXhr.last = undefined;
    const done = client.upload(new File(["abc"], "a.txt"), options);
    done.catch(() => {});
    await vi.waitUntil(() => FakeXhr.last?.body);
    return { done, xhr: lastXhr() };
  }

  test("in a page tells how far it is", async () => {
    const seen: number[] = [];
    const { done, xhr } = await begin({ onProgress: (p) => seen.push(p.loaded / p.total) });
    expect(xhr.headers.authorization).toBe("Bearer t");
    xhr.upload.onprogress?.({ loaded: 50, total: 200 });
    xhr.upload.onprogress?.({ loaded: 200, total: 200 });
    xhr.answer(201, asset);
    expect(await done).toEqual(asset);
    expect(seen).toEqual([0.25, 1]);
  });

  test("in a page ends with what the server, the network or the caller says", async () => {
    const refused = await begin();
    refused.xhr.answer(415, { error: { code: "asset_type_refused", message: "no" } });
    await expect(refused.done).rejects.toMatchObject({ code: "asset_type_refused" });

    const broken = await begin();
    broken.xhr.onerror?.();
    await expect(broken.done).rejects.toMatchObject({ code: "network", retryable: true });

    const control = new AbortController();
    const aborted = await begin({ signal: control.signal });
    control.abort();
    await expect(aborted.done).rejects.toBe(control.signal.reason);
  });
});

describe("addresses", () => {
  test("are asked for once, by all who want the same, until 30 s before their end", async () => {
    const { client, calls } = served(address(1, 300), address(2, 300));
    const [first, second] = await Promise.all([client.assetUrl("a_1"), client.assetUrl("a_1")]);
    expect(first.url).toBe("https://chat.example/v1/assets/a_1/content?sig=1");
    expect(second).toBe(first);
    vi.setSystemTime(Date.now() + 269_000);
    expect(await client.assetUrl("a_1")).toBe(first);
    vi.setSystemTime(Date.now() + 2_000);
    expect((await client.assetUrl("a_1")).url).toContain("sig=2");
    expect(calls.map((c) => c.url)).toEqual(
      Array(2).fill("https://chat.example/v1/assets/a_1/url?disposition=inline"),
    );
  });

  test("differ by disposition and variant", async () => {
    const { client, calls } = served(address(1, 300), address(2, 300));
    await client.assetUrl("a_1", { disposition: "attachment" });
    await client.assetUrl("a_1", { variant: "thumb" });
    expect(calls.map((c) => new URL(c.url).search)).toEqual([
      "?disposition=attachment",
      "?disposition=inline&variant=thumb",
    ]);
  });

  test("that could not be had are asked for again", async () => {
    const { client } = served(refusal(409, "asset_not_ready"), address(1, 300));
    await expect(client.assetUrl("a_1")).rejects.toBeInstanceOf(InlayError);
    expect((await client.assetUrl("a_1")).url).toContain("sig=1");
  });

  test("of a deleted file are forgotten", async () => {
    const { client } = served(
      address(1, 300),
      () => new Response(null, { status: 204 }),
      refusal(404, "not_found"),
    );
    await client.assetUrl("a_1");
    await client.deleteAsset("a_1");
    await expect(client.assetUrl("a_1")).rejects.toMatchObject({ status: 404 });
  });
});

describe("content", () => {
  test.each([403, 410])("renews an address that is answered by %i, once", async (status) => {
    const { client, calls } = served(
      address(1, 300),
      refusal(status, "asset_url_expired"),
      address(2, 300),
      () => new Response("ell", { status: 206 }),
    );
    const part = await client.assetContent("a_1", { range: [1, 4] });
    expect(await part.text()).toBe("ell");
    expect(calls.map((c) => c.url.replace(/.*a_1/, ""))).toEqual([
      "/url?disposition=inline",
      "/content?sig=1",
      "/url?disposition=inline",
      "/content?sig=2",
    ]);
    expect(calls[3]?.headers.get("Range")).toBe("bytes=1-3");
    // The signature is the credential.
    expect(calls[3]?.headers.has("Authorization")).toBe(false);
  });

  test("gives up when the new address is refused too", async () => {
    const expired = refusal(410, "asset_url_expired");
    const { client, calls } = served(address(1, 300), expired, address(2, 300), expired);
    await expect(client.assetContent("a_1")).rejects.toMatchObject({ code: "asset_url_expired" });
    expect(calls).toHaveLength(4);
  });

  test("is not asked for again after other refusals", async () => {
    const { client, calls } = served(address(1, 300), refusal(404, "not_found"));
    await expect(client.assetContent("a_1")).rejects.toMatchObject({ status: 404 });
    expect(calls).toHaveLength(2);
  });
});

test("records and previews have their routes", async () => {
  const { client, calls } = served(
    () => Response.json(asset),
    () => Response.json({ kind: "table", rows: [[1]], sheets: ["销售"], more: true }),
  );
  expect(await client.asset("a_1")).toEqual(asset);
  const page = await client.assetPreview("a_1", { sheet: "销售", offset: 0, limit: 200 });
  expect(page.kind).toBe("table");
  expect(calls.map((c) => c.url.replace("https://chat.example", ""))).toEqual([
    "/v1/assets/a_1",
    "/v1/assets/a_1/preview?sheet=%E9%94%80%E5%94%AE&offset=0&limit=200",
  ]);
});

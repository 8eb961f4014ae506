import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { FeatureRecommendationAction as Action } from "@inlay-ui/client";
import {
  allowsTarget,
  checkFeatureRecommendation,
  checkTarget,
  checkUiBlock,
  parseCapabilityToken,
  parseCapabilityTokens,
  targetKey,
} from "@inlay-ui/client/validate";
import { describe, expect, test } from "vitest";

function rows<T>(name: string): T[] {
  const path = fileURLToPath(new URL(`../../../../testdata/${name}`, import.meta.url));
  const lines = readFileSync(path, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as T);
}

interface TokenRow {
  kind: "token" | "list";
  value: string;
  expect?: "accept" | "reject";
  namespace?: string;
  block_type?: string;
  major?: number;
  accepted?: string[];
  rejected?: number;
  reason: string;
}

describe("capability tokens", () => {
  const all = rows<TokenRow>("capability-tokens.jsonl");

  test.each(all.filter((row) => row.kind === "token"))("$value: $expect", (row) => {
    const { namespace, block_type: blockType, major } = row;
    expect(parseCapabilityToken(row.value)).toEqual(
      row.expect === "accept" ? { namespace, blockType, major } : null,
    );
  });

  test.each(all.filter((row) => row.kind === "list"))("a list: $reason", (row) => {
    const { tokens, rejected } = parseCapabilityTokens(row.value);
    const accepted = tokens.map((t) => `${t.namespace}.${t.blockType}@${t.major}`);
    expect(accepted).toEqual(row.accepted);
    expect(rejected).toHaveLength(row.rejected ?? -1);
  });
});

interface TargetRow {
  kind: "route" | "slash" | "external" | "modal" | "data" | "envelope" | "dedup";
  name: string;
  value: unknown;
  a: Action;
  b: Action;
  expect: "accept" | "reject" | "same" | "distinct";
  expect_renderer?: "accept" | "reject";
  allow_hosts?: string[];
}

function verdict({ kind, value, a, b }: TargetRow): string {
  const judge = (problem: string | null) => (problem === null ? "accept" : "reject");
  switch (kind) {
    case "route":
      return judge(checkTarget({ kind: "route", target: value }));
    case "slash":
      return judge(checkTarget({ kind: "slash", command: value }));
    case "external":
      return judge(checkTarget({ kind: "external", url: value }));
    case "modal":
      return judge(checkTarget(value));
    case "data":
      return judge(checkFeatureRecommendation(value));
    case "envelope": {
      const { _source, ...event } = value as { _source?: string };
      return judge(checkUiBlock(event, { outside: _source === "external" }));
    }
    case "dedup":
      return targetKey(a) === targetKey(b) ? "same" : "distinct";
  }
}

describe("targets", () => {
  const all = rows<TargetRow>("feature-recommendation.jsonl");

  test.each(all)("$kind, $name: $expect", (row) => {
    expect(verdict(row)).toBe(row.expect);
  });

  test.each(all.filter((row) => row.expect_renderer))(
    "$name, at the click: $expect_renderer",
    (row) => {
      const action: Action = { kind: "external", url: String(row.value) };
      const opens =
        checkTarget(action) === null && allowsTarget(action, { hosts: row.allow_hosts ?? [] });
      expect(opens ? "accept" : "reject").toBe(row.expect_renderer);
    },
  );

  test("accepted routes are left as they are by a browser, and stay in its origin", () => {
    const routes = all.filter((row) => row.kind === "route" && row.expect === "accept");
    expect(routes.length).toBeGreaterThan(0);
    for (const { value } of routes) {
      const url = new URL(String(value), "https://page.test");
      expect(url.origin).toBe("https://page.test");
      expect(url.pathname + url.search + url.hash).toBe(value);
    }
  });
});

const deposit = { id: "dep", label: "Deposit", action: { kind: "modal", name: "deposit" } };

test("modals are those of the protocol, those that are named, or any that is well formed", () => {
  const swap = { kind: "modal", name: "swap" };
  expect(checkTarget(swap)).toMatch(/^M1/);
  expect(checkTarget(swap, { modals: ["swap"] })).toBeNull();
  expect(checkTarget(swap, { modals: "any" })).toBeNull();
  expect(checkTarget({ kind: "modal", name: "Swap" }, { modals: "any" })).toMatch(/^M1/);
  expect(checkTarget(deposit.action, { modals: [] })).toMatch(/^M1/);
  const card = { items: [{ ...deposit, action: swap }] };
  expect(checkFeatureRecommendation(card)).toMatch(/^items\[0\]: M1/);
  expect(checkFeatureRecommendation(card, { modals: ["swap"] })).toBeNull();
});

test("an open check lets members through that a newer version may have, and nothing else", () => {
  const newer = { items: [{ ...deposit, tone: "calm" }], layout: "wide" };
  expect(checkFeatureRecommendation(newer)).toMatch(/D1: .*layout/);
  expect(checkFeatureRecommendation(newer, { open: true })).toBeNull();
  expect(checkFeatureRecommendation({ items: [] }, { open: true })).toMatch(/^D1/);
});

test("deep and cyclic nesting of parameters is refused without following it", () => {
  const params: Record<string, unknown> = {};
  params.self = params;
  expect(checkTarget({ ...deposit.action, params })).toMatch(/^M1/);
});

test("a block is checked with the data of the type that is known, others by their form alone", () => {
  const event = {
    id: "b1",
    namespace: "acme.tools",
    block_type: "quote",
    version: "2.1.0-beta.1+7",
    data: null,
    _meta: { "minara/source": "skill" },
  };
  expect(checkUiBlock(event)).toBeNull();
  expect(checkUiBlock({ ...event, version: "2.1" })).toMatch(/^E1/);
  expect(checkUiBlock({ ...event, block_type: "a.b" })).toMatch(/^E1/);
  expect(checkUiBlock({ ...event, position: "above" })).toMatch(/^E1/);
  expect(checkUiBlock({ ...event, _meta: { x: "x".repeat(4096) } })).toMatch(/^E1/);
  const inner = { namespace: "minara", block_type: "feature_recommendation", version: "1.4.0" };
  expect(checkUiBlock({ ...event, ...inner, data: { items: [deposit] } })).toBeNull();
  expect(checkUiBlock({ ...event, ...inner, data: { items: [] } })).toMatch(/^D1/);
});

describe("destinations", () => {
  const route = (target: string): Action => ({ kind: "route", target });
  const slash = (command: string): Action => ({ kind: "slash", command });
  const external = (url: string): Action => ({ kind: "external", url });

  test("a route is a path, or below one; query, fragment and one slash at its end do not count", () => {
    const routes = ["/wallet", "/market/*"];
    const allowed = (target: string) => allowsTarget(route(target), { routes });
    expect(["/wallet", "/wallet/", "/wallet?tab=1#top", "/market/btc/usd"].map(allowed)).toEqual(
      Array(4).fill(true),
    );
    expect(["/wallets", "/wallet/x", "/market", "/marketing/x", "/Wallet"].map(allowed)).toEqual(
      Array(5).fill(false),
    );
    expect(allowsTarget(route("/any/thing"), { routes: ["/*"] })).toBe(true);
  });

  test("a command by its word", () => {
    const allowed = (command: string) => allowsTarget(slash(command), { slash: ["buy", "/sell"] });
    expect(["/buy", "/buy 100 BTC", "/sell 1"].map(allowed)).toEqual([true, true, true]);
    expect(["/buyer", "/swap buy"].map(allowed)).toEqual([false, false]);
  });

  test("an address by its host, on the usual port alone", () => {
    const hosts = ["example.com", "*.docs.example.com"];
    const allowed = (url: string) => allowsTarget(external(url), { hosts });
    expect(
      ["https://EXAMPLE.com/a", "https://example.com:443", "https://a.docs.example.com"].map(
        allowed,
      ),
    ).toEqual([true, true, true]);
    expect(
      [
        "https://example.com:8443/",
        "https://www.example.com/",
        "https://docs.example.com/",
        "https://example.com.evil.test/",
        "https://example.com./",
      ].map(allowed),
    ).toEqual(Array(5).fill(false));
    expect(allowsTarget(external("https://a.test"), { hosts: ["*"] })).toBe(true);
  });

  test("an absent list allows its kind, an empty one nothing of it", () => {
    const all = [route("/a"), slash("/a"), external("https://a.test"), deposit.action as Action];
    expect(all.map((action) => allowsTarget(action, {}))).toEqual(Array(4).fill(true));
    const none = { routes: [], slash: [], modals: [], hosts: [] };
    expect(all.map((action) => allowsTarget(action, none))).toEqual(Array(4).fill(false));
  });
});

import { parseCapabilityToken } from "@inlay-ui/client/validate";
import { afterEach, describe, expect, test, vi } from "vitest";
import { fillPrompt } from "../src/host.ts";
import { en } from "../src/i18n/en.ts";
import {
  allowedUrl,
  BlockRegistry,
  clientCapabilityTokens,
  defineRenderer,
  errorText,
  registerBlock,
  registerLanguage,
  translator,
} from "../src/index.ts";

afterEach(() => vi.restoreAllMocks());

describe("words", () => {
  test("lookup falls back from region to language to English to the key", () => {
    expect(translator("zh-Hant-TW")("chat.block.tryAgain")).toBe("重试");
    expect(translator("fr")("chat.block.tryAgain")).toBe("Try again");
    expect(translator("en")("chat.no.such")).toBe("chat.no.such");
    expect(translator("en")("toString")).toBe("toString");
  });

  test("a language is added, places are filled, plurals chosen by its rules", () => {
    registerLanguage("pl", {
      "chat.x.one": "{count} plik",
      "chat.x.few": "{count} pliki",
      "chat.x.other": "{count} plików",
    });
    const t = translator("pl");
    expect([1, 3, 5].map((count) => t("chat.x", { count }))).toEqual([
      "1 plik",
      "3 pliki",
      "5 plików",
    ]);
    expect(t("chat.block.tryAgain")).toBe("Try again");
    const own = translator("en", { "chat.y": "{a} {b} {a}" });
    expect(own("chat.y", { a: "$&", toString: 1 })).toBe("$& {b} $&");
  });

  test("errors by code", () => {
    const t = translator("en");
    expect(errorText(t, "CANCELLED")).toBe(en["chat.error.CANCELLED"]);
    expect(errorText(t, "WEIRD")).toContain("WEIRD");
  });
});

describe("registry", () => {
  const component = () => null;

  test("adding a renderer changes the handshake with no other edit", () => {
    const before = clientCapabilityTokens();
    registerBlock({ type: "zzz.ticket_card", major: 1, component });
    expect(clientCapabilityTokens()).toEqual([...before, "zzz.ticket_card@1"].sort());
  });

  test("finds the newest that is not too new", () => {
    const registry = new BlockRegistry([
      { type: "chart", major: 1, component },
      { type: "inlay.chart", major: 3, component },
    ]);
    const found = (version: number) => {
      const f = registry.find("inlay.chart", version);
      return f && [f.entry.major, f.older];
    };
    expect([1, 2, 3, 4].map(found)).toEqual([
      [1, false],
      [1, true],
      [3, false],
      [3, true],
    ]);
    expect(registry.find("map", 1)).toBeNull();
    expect(registry.tokens()).toEqual(["chart@1", "chart@3"]);
  });

  test("the later renderer wins, and one without a component is refused", () => {
    const other = () => null;
    const registry = new BlockRegistry([{ type: "chart", major: 1, component }]);
    registry.add(defineRenderer<string>({ type: "chart", major: 1, component: other }));
    expect(registry.find("chart", 1)?.component).toBe(other);
    expect(() => registry.add({ type: "map", major: 1 })).toThrow("map@1");
  });

  test.each([
    "",
    "Chart",
    "acme.Ticket",
    "acme..ticket",
    ".ticket",
    "acme.",
    "acme ticket",
    "acme.ticket@1",
    "acme.ticket\n",
    "天气",
    `acme.${"x".repeat(65)}`,
  ])("a type that no server would understand is refused: %j", (type) => {
    expect(() => new BlockRegistry([{ type, major: 1, component }])).toThrow(
      `${JSON.stringify(type)} is no name of a block type`,
    );
  });

  test.each([0, -1, 1.5, Number.NaN, 2 ** 31])("no more is a major version of %d", (major) => {
    expect(() => new BlockRegistry([{ type: "chart", major, component }])).toThrow(
      /no major version of chart/,
    );
  });

  test("what is declared is what the server reads", () => {
    const types = ["a.b", "acme.tools.bridge_quote", "minara.feature-x", "0.1", "chart"];
    const registry = new BlockRegistry(types.map((type) => ({ type, major: 2, component })));
    for (const token of registry.tokens()) {
      const full = token.includes(".") ? token : `inlay.${token}`;
      expect(parseCapabilityToken(full), token).not.toBeNull();
    }
  });
});

describe("allowedUrl", () => {
  const cases: [string, string[] | undefined, boolean][] = [
    ["https://a.example/x?y#z", undefined, true],
    ["https://a.example/", ["a.example"], true],
    ["https://A.Example/", ["a.EXAMPLE"], true],
    ["https://x.a.example/", ["a.example"], false],
    ["https://x.a.example/", ["*.a.example"], true],
    ["https://a.example/", ["*.a.example"], false],
    ["https://nota.example/", ["*.a.example"], false],
    ["https://any.example/", ["*"], true],
    ["https://a.example/", [], false],
    ["http://a.example/", undefined, false],
    ["http://localhost:3000/", undefined, true],
    ["https://user:pw@a.example/", undefined, false],
    ["javascript:alert(1)", ["*"], false],
    ["data:text/html,x", undefined, false],
    ["//a.example/", undefined, false],
    ["/relative", undefined, false],
    ["", undefined, false],
  ];
  test.each(cases)("%s of %j: %s", (href, hosts, want) => {
    expect(allowedUrl(href, hosts) !== null).toBe(want);
  });
});

test("a prompt is filled in with own parameters only, once", () => {
  expect(fillPrompt("{{a}} {{ b }} {{toString}}", { a: "{{b}}", b: 2 })).toBe(
    "{{b}} 2 {{toString}}",
  );
});

// @vitest-environment node
import { describe, expect, it } from "vitest";
import { en } from "../src/i18n/en.ts";
import { isTextKey, preferredLanguage, translator } from "../src/i18n/index.ts";
import { zh } from "../src/i18n/zh.ts";

const places = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

describe("strings", () => {
  it("has the same keys in every language", () => {
    expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
  });

  it.each(Object.keys(en).filter(isTextKey))("%s has text and the same places", (key) => {
    expect(en[key].trim()).not.toBe("");
    expect(zh[key].trim()).not.toBe("");
    expect(places(zh[key])).toEqual(places(en[key]));
  });

  it("names the message field exactly", () => {
    expect(en["composer.label"]).toBe("Message");
    expect(zh["composer.label"]).toBe("消息");
  });
});

describe("translator", () => {
  it("fills in values and leaves unknown places", () => {
    const t = translator("en");
    expect(t("tool.ok", { name: "Q3 sales", time: "0.4 s" })).toBe("Looked up Q3 sales · 0.4 s");
    expect(t("tool.running")).toBe("Looking up {name}…");
    expect(translator("zh")("live.ready.chart", { title: "$& {n}" })).toBe("图表已就绪：$& {n}");
  });
});

describe("preferredLanguage", () => {
  it("takes the first one the page speaks", () => {
    expect(preferredLanguage(["fr-FR", "zh-TW", "en"])).toBe("zh");
    expect(preferredLanguage(["EN-gb", "zh"])).toBe("en");
    expect(preferredLanguage(["fr"])).toBe("en");
    expect(preferredLanguage([])).toBe("en");
  });
});

// @vitest-environment node
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { chartThemes } from "../src/chart/theme.ts";

const folder = new URL("../src/styles/", import.meta.url);
const css = readFileSync(new URL("tokens.css", folder), "utf8");

function tokens(block: string): Map<string, string> {
  return new Map(
    [...block.matchAll(/--inlay-([a-z0-9-]+):\s*([^;]+);/g)].map((m) => [
      m[1] ?? "",
      (m[2] ?? "").trim(),
    ]),
  );
}

const bodies = [...css.matchAll(/\.inlay-root[^{]*\{([^}]*)\}/g)].map((m) => tokens(m[1] ?? ""));
const [light, dark, system] = bodies;

function luminance(hex: string): number {
  const parts = [1, 3, 5].map((at) => {
    const c = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * (parts[0] ?? 0) + 0.7152 * (parts[1] ?? 0) + 0.0722 * (parts[2] ?? 0);
}

function contrast(a: string, b: string): number {
  const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

describe.each([
  ["light", light],
  ["dark", dark],
])("the %s theme", (name, theme) => {
  const value = (token: string): string => {
    const found = theme?.get(token);
    expect(found, `--inlay-${token}`).toMatch(/^#[0-9a-f]{6}$/);
    return found ?? "";
  };

  it.each(["bg", "surface", "surface-2"])("has readable text on %s (4.5:1)", (ground) => {
    for (const ink of ["text", "muted", "accent", "good", "bad", "warn"]) {
      expect(contrast(value(ink), value(ground)), `${ink} on ${ground}`).toBeGreaterThanOrEqual(
        4.5,
      );
    }
  });

  it("has readable code on its ground (4.5:1)", () => {
    for (const ink of ["keyword", "string", "number", "comment", "title"]) {
      expect(contrast(value(`code-${ink}`), value("surface-2")), ink).toBeGreaterThanOrEqual(4.5);
    }
  });

  it("has chart colours that stand out from the ground, and carry text (4.5:1)", () => {
    for (let i = 1; i <= 8; i++) {
      for (const ground of ["bg", "surface"]) {
        expect(contrast(value(`chart-${i}`), value(ground)), `chart-${i}`).toBeGreaterThanOrEqual(
          4.5,
        );
      }
    }
  });

  it("has controls and focus that can be seen (3:1), and readable primary buttons", () => {
    for (const edge of ["border-strong", "focus"]) {
      expect(contrast(value(edge), value("surface")), edge).toBeGreaterThanOrEqual(3);
      expect(contrast(value(edge), value("bg")), edge).toBeGreaterThanOrEqual(3);
    }
    expect(contrast(value("on-accent"), value("accent"))).toBeGreaterThanOrEqual(4.5);
  });

  it("is what charts fall back to", () => {
    const fallback = chartThemes[name as "light" | "dark"];
    expect(fallback.palette).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((i) => value(`chart-${i}`)));
    for (const token of [
      "text",
      "muted",
      "border",
      "surface",
      "accent",
      "good",
      "bad",
      "warn",
    ] as const) {
      expect(fallback[token]).toBe(value(token));
    }
    expect(fallback.grid).toBe(value("chart-grid"));
  });
});

describe("the style sheets", () => {
  it("give the device's dark theme the same values as the chosen one", () => {
    expect(system).toEqual(dark);
  });

  it("have at most 40 tokens, and use no other", () => {
    const known = new Set(light?.keys());
    expect(known.size).toBeLessThanOrEqual(40);
    expect([...(dark?.keys() ?? [])].filter((t) => !known.has(t))).toEqual([]);
    for (const file of readdirSync(folder)) {
      const text = readFileSync(new URL(file, folder), "utf8");
      for (const [, token] of text.matchAll(/var\(--inlay-([a-z0-9-]+)/g)) {
        expect(known, `${file} uses --inlay-${token}`).toContain(token);
      }
    }
  });

  it("touch nothing outside their own classes, and stay in their layer", () => {
    for (const file of readdirSync(folder)) {
      const text = readFileSync(new URL(file, folder), "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
      if (file === "index.css") {
        continue;
      }
      expect(text.trim().startsWith("@layer inlay {"), file).toBe(true);
      const selectors = [...text.matchAll(/(?:^|[{}])\s*([^{}@;]+)\{/g)].map((m) =>
        (m[1] ?? "").trim(),
      );
      for (const selector of selectors) {
        if (/^(?:\d+%|from|to)$/.test(selector)) {
          continue;
        }
        for (const one of selector.split(",")) {
          expect(one.trim(), `${file}: ${selector}`).toMatch(/^\.inlay-/);
        }
      }
    }
  });
});

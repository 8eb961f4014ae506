import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  checkFeatureRecommendation,
  checkTarget,
  checkUiBlock,
  type TargetAction,
  targetKey,
} from "@inlay-ui/client/validate";
import { describe, expect, test } from "vitest";

/*
 * The vectors that the server's own rules are tested with: both sides come to
 * the same verdict, by the same rule.
 */

function rows<T>(name: string): T[] {
  const path = fileURLToPath(new URL(`../../../../testdata/${name}`, import.meta.url));
  const lines = readFileSync(path, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as T);
}

interface Target {
  kind: string;
  value: string;
  rule?: string;
}

const members: Record<string, string> = {
  route: "target",
  slash: "command",
  modal: "name",
  external: "url",
};

function action({ kind, value }: Target): TargetAction {
  return { kind, [members[kind] ?? "value"]: value } as unknown as TargetAction;
}

describe("targets", () => {
  test.each(rows<Target>("targets.jsonl"))("$kind $value breaks $rule", (row) => {
    const problem = checkTarget(action(row), { modals: "any" });
    if (row.rule === undefined) expect(problem).toBeNull();
    else if (row.rule === "D1") expect(problem).not.toBeNull();
    else expect(problem).toMatch(new RegExp(`^${row.rule}: `));
  });

  const routes = rows<Target>("targets.jsonl").filter((row) => row.kind === "route" && !row.rule);
  test.each(routes)("a browser leaves $value as it is", ({ value }) => {
    const { origin, pathname, search, hash } = new URL(value, "https://app.example");
    expect(origin).toBe("https://app.example");
    expect(pathname + search + hash).toBe(value);
  });

  test("those put together at random come to the verdict and the key of the server", () => {
    const all = rows<Target & { key?: string }>("targets-generated.jsonl");
    expect(all.length).toBeGreaterThan(1000);
    for (const { key, rule, ...target } of all) {
      const problem = checkTarget(action(target), { modals: "any" });
      const what = problem === null ? targetKey(action(target)) : problem.split(":")[0];
      expect(what, JSON.stringify(target)).toBe(key ?? rule);
    }
  });

  test("those of a row are one destination, and no other row's", () => {
    const seen = new Map<string, number>();
    for (const [i, row] of rows<Target[]>("target-keys.jsonl").entries()) {
      const keys = new Set(row.map((target) => targetKey(action(target))));
      expect([...keys], JSON.stringify(row)).toHaveLength(1);
      for (const key of keys) {
        expect(seen.get(key), JSON.stringify(row)).toBeUndefined();
        seen.set(key, i);
      }
    }
  });
});

test.each(rows<{ payload: unknown; path?: string }>("recommendations.jsonl"))(
  "recommendation $payload",
  ({ payload, path }) => {
    expect(checkFeatureRecommendation(payload) === null).toBe(path === undefined);
  },
);

test.each(rows<{ event: unknown; error?: string }>("ui-blocks.jsonl"))(
  "block from outside $event",
  ({ event, error }) => {
    expect(checkUiBlock(event, { outside: true }) === null).toBe(error === undefined);
  },
);

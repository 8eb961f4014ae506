import { InlayClient } from "@inlay-ui/client";
import { act, cleanup, fireEvent, render } from "@testing-library/react";
import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { afterEach, describe, expect, it, vi } from "vitest";
import { colouredLength, loadHighlighter } from "../src/markdown/highlight.ts";
import { hostListed, imagePlace, safeHref } from "../src/markdown/links.ts";
import { Markdown } from "../src/markdown/Markdown.tsx";
import { extractMath } from "../src/markdown/math.ts";
import { fenceParts, settle, settleInline } from "../src/markdown/settle.ts";
import { type Piece, splitMarkdown } from "../src/markdown/split.ts";
import { InlayProvider } from "../src/provider.tsx";
import { show } from "./help.tsx";

afterEach(cleanup);

const client = new InlayClient({ fetch: () => Promise.reject(new Error("no network")) });

function Around({ children }: { children: ReactNode }) {
  return (
    <InlayProvider client={client} theme="light">
      {children}
    </InlayProvider>
  );
}

function drawn(text: string, streaming = false): HTMLElement {
  const host = document.createElement("div");
  host.innerHTML = renderToStaticMarkup(
    <Around>
      <Markdown text={text} streaming={streaming} />
    </Around>,
  );
  return host;
}

/** What a reader sees, without the words of buttons. */
function words(host: HTMLElement): string {
  for (const extra of host.querySelectorAll("figcaption")) {
    extra.remove();
  }
  return (host.textContent ?? "").replace(/\s+/g, "");
}

const corpus: Record<string, string> = {
  emphasis: "Some **bold text** and *slanted* and ***both*** and ~~gone~~, then **more**.",
  nested: "**bold with *slanted inside* it** and `code with ** stars` after.",
  chinese: "**结论：**华东增长最快，**“高端”**产品占 *三成*。价格在 3~5 天内**上涨**了。",
  underscores: "The snake_case_name and __strong__ and _thin_ words.",
  link: 'See [the **report** of 2026](https://example.com/a_b?c=d "Title") for [more](https://example.com).',
  parens: "A [page](https://example.com/x_(y)) and a note [sic] (really) and [1] too.",
  image: "Before ![a picture](https://images.example/x.png) after!",
  code: "Use `npm run build` or ``a ` tick`` now.",
  fence: "Text\n\n```go\nfunc main() {\n\tx := `a`\n}\n```\n\nAfter the code.",
  tilde: "~~~\nplain ``` inside\n~~~\nend",
  list: "Steps:\n\n1. First **one**\n2. Second\n   - inner `a`\n   - inner b\n\n3. Third\n\nDone.",
  tight: "- a\n- b\n- c\nlazy\n\n* other",
  tasks: "- [x] done\n- [ ] open\n- [link](https://example.com)",
  listfence: "1. Run\n\n   ```sh\n   ls -l\n\n   pwd\n   ```\n\n2. Look",
  table: "| Region | Sales |\n|:--|--:|\n| **East** | 320 |\n| South | `210` |\n\nTotal 530.",
  plaintable: "Region | Sales\n--- | ---\nEast | 320\n\nEnd.",
  heading: "# Title\n\nText\n\n## Second *part*\n\nMore\n\n---\n\nEnd",
  quote: "> quoted **words**\n> go on\n\nand then\n\n> - item",
  math: "Mass $E = mc^2$ and \\(a_1 + b\\) then\n\n$$\n\\int_0^1 x\\,dx\n$$\n\nso \\[x = 2\\] holds.",
  money: "It costs $5 and sells for $2bn and $4bn, i.e. $5/$6 each. US$100 stays.",
  html: "A <b>tag</b> and <https://example.com> and a < b && c > d &amp; e.<br>Next",
  url: "Open https://example.com/a_b_c?x=1 now, **https://example.com**.",
  notes: "A claim[^1] here.\n\n[^1]: The proof is *long*.",
  hardbreak: "one\\\ntwo  \nthree \\* four",
};

describe("every prefix of an answer", () => {
  it.each(Object.entries(corpus))("only adds to what is shown: %s", (_name, text) => {
    const whole = words(drawn(text));
    let before = "";
    for (let n = 1; n <= text.length; n++) {
      const now = words(drawn(text.slice(0, n), true));
      expect(
        now.startsWith(before),
        `${JSON.stringify(text.slice(0, n))}: ${before} → ${now}`,
      ).toBe(true);
      before = now;
    }
    expect(whole.startsWith(before), `${before} → ${whole}`).toBe(true);
  });

  it.each(Object.entries(corpus))(
    "never shows a marker that the whole does not have: %s",
    (_name, text) => {
      const whole = words(drawn(text));
      for (let n = 1; n <= text.length; n++) {
        expect(whole).toContain(words(drawn(text.slice(0, n), true)));
      }
    },
  );

  it.each(Object.entries(corpus))(
    "is cut the same way whether it grew or came at once: %s",
    (_name, text) => {
      let grown: { text: string; pieces: Piece[] } | undefined;
      for (let n = 1; n <= text.length; n += 3) {
        const part = text.slice(0, n);
        const pieces = splitMarkdown(part, grown);
        expect(pieces).toEqual(splitMarkdown(part));
        grown = { text: part, pieces };
      }
    },
  );

  it.each(Object.entries(corpus))("keeps parts that are over as they are: %s", (_name, text) => {
    const all = splitMarkdown(text);
    const first = splitMarkdown(text.slice(0, Math.floor(text.length / 2)));
    for (const piece of first.slice(0, -1)) {
      expect(all).toContainEqual(piece);
    }
  });
});

describe("settleInline", () => {
  it.each([
    ["**bo", "**bo**"],
    ["**bold*", "**bold**"],
    ["a *", "a "],
    ["**", ""],
    ["a **b *c", "a **b *c***"],
    ["2 * 3 * 4", "2 * 3 * 4"],
    ["`co", "`co`"],
    ["`", ""],
    ["[te", ""],
    ["[text]", ""],
    ["[text](htt", "text"],
    ["[text](https://example.com)", "[text](https://example.com)"],
    ["[text] and", "[text] and"],
    ["![alt](htt", ""],
    ["costs $5 and", "costs $5 and"],
    ["let $x + y", "let "],
    ["let $x$ be", "let $x$ be"],
    ["a <b", "a "],
    ["a < b", "a < b"],
    ["R&D is", "R&D is"],
    ["a\\", "a"],
    ["\\(x + ", ""],
  ])("%j shows %j", (text, want) => {
    expect(settleInline(text)).toBe(want);
  });

  it("gives a hold up when nothing comes of it", () => {
    const long = `[${"word ".repeat(120)}`;
    expect(settleInline(long)).toBe(long);
  });
});

describe("fences", () => {
  const piece = (text: string): Piece => ({ start: 0, text, kind: "fence", closed: false });
  it("wait for their first line, and hide half of the last one", () => {
    expect(settle(piece("```j"))).toBe("");
    expect(settle(piece("```js\nlet a"))).toBe("```js\nlet a");
    expect(settle(piece("```js\nlet a\n``"))).toBe("```js\nlet a");
  });
  it.each([
    ["```js\nlet a\n```", "js", "let a"],
    ["~~~\nx\n~~~", "", "x"],
    ["   ```TS title=x\n   a\n     b\n   ```", "ts", "a\n  b"],
    ["```{.python}\nx", "python", "x"],
  ])("%j", (text, lang, code) => {
    expect(fenceParts(text)).toEqual({ lang, code });
  });
});

describe("formulas and money", () => {
  it.each([
    ["It costs $2bn and $4bn in all.", []],
    ["between $5 and $10", []],
    ["$5/$6", []],
    ["US$100 and CA$200", []],
    ["costs $5. (or 6$)", []],
    ["价格是$5，而不是6$。", []],
    ["$HOME/$USER and $PATH", []],
    ["escaped \\$x$ here", []],
    ["a $ b $ c", []],
    ["`$x$` in code", []],
    ["```\n$x$\n```", []],
    ["- ```\n  $x$\n  ```", []],
    ["[a](https://example.com/$x$/y)", []],
    ["$x$", ["x"]],
    ["$2x + 1$", ["2x + 1"]],
    ["$100\\%$", ["100\\%"]],
    ["so $E = mc^2$, and $a_1$.", ["E = mc^2", "a_1"]],
    ["the $n$th", ["n"]],
    ["\\(a\\) and \\[b\\]", ["a", "b"]],
    ["$$a + b$$", ["a + b"]],
    ["| $|x|$ | y |", ["|x|"]],
    ["it is $5 but $x$ is", ["x"]],
  ])("%j", (text, want) => {
    expect(extractMath(text).spans.map((s) => s.tex)).toEqual(want);
  });

  it("are drawn as MathML, and as source when they are wrong", async () => {
    const { container } = render(
      <Around>
        <Markdown text={"Good $x^2$ and bad $\\frac{1$ here.\n\n$$\n\\sum_i i\n$$"} />
      </Around>,
    );
    await vi.waitFor(() => expect(container.querySelectorAll("math")).toHaveLength(2));
    await vi.waitFor(() =>
      expect(container.querySelectorAll(".inlay-math-source")).toHaveLength(1),
    );
    expect(container.querySelector(".inlay-math-source")?.textContent).toBe("$\\frac{1$");
    expect(container.querySelector("math[display=block]")).not.toBeNull();
    expect(container.querySelector("[style]")).toBeNull();
  });

  it("cannot carry links or markup", async () => {
    const { container } = render(
      <Around>
        <Markdown text={"$\\href{javascript:alert(1)}{x}$ and $\\htmlClass{a}{x}$ and $y$"} />
      </Around>,
    );
    await vi.waitFor(() => expect(container.querySelector("math")).not.toBeNull());
    expect(container.querySelector("a")).toBeNull();
    expect(container.innerHTML).not.toMatch(/href=/);
  });
});

describe("hostile text", () => {
  it.each([
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a <b onclick=alert(1)>b</b>",
    "<iframe src='https://example.com'></iframe>",
    "<style>*{display:none}</style>",
    "<svg><script>alert(1)</script></svg>",
    "<div>\n\n<script>alert(1)</script>\n\n</div>",
  ])("stays text: %j", (text) => {
    const host = drawn(text);
    expect(
      host.querySelector("script, img, iframe, style, svg, b, [onclick], [onerror]"),
    ).toBeNull();
    expect(host.textContent).toContain("<");
  });

  it.each([
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#115;cript:alert(1))",
    "[x](vbscript:x)",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](file:///etc/passwd)",
    "[x](blob:https://example.com/1)",
    "[x](//evil.example/x)",
    "[x](\\\\evil.example)",
    "[x](irc://evil.example)",
    "<javascript:alert(1)>",
    "[x]\n\n[x]: javascript:alert(1)",
  ])("has no such link: %j", (text) => {
    const host = drawn(text);
    for (const link of host.querySelectorAll("a")) {
      expect(link.getAttribute("href")).toMatch(/^(?:https?:|mailto:)/);
    }
    expect(host.innerHTML).not.toMatch(
      /(?:href|src)="(?:javascript|vbscript|data|file|blob|irc|\/\/)/i,
    );
  });

  it("hides comments and keeps line breaks", () => {
    const host = drawn("a <!-- hidden --> b<br>c");
    expect(host.textContent).not.toContain("hidden");
    expect(host.querySelector("br")).not.toBeNull();
  });
});

describe("links and images", () => {
  it("open apart, without a way back", () => {
    const link = drawn("[a](https://example.com/x)").querySelector("a");
    expect(link?.getAttribute("target")).toBe("_blank");
    expect(link?.getAttribute("rel")).toBe("noopener noreferrer");
    expect(drawn("<me@example.com>").querySelector("a")?.getAttribute("href")).toBe(
      "mailto:me@example.com",
    );
  });

  it("go to the page's own paths by its router, if they are on the list", () => {
    const navigate = vi.fn();
    const knows = (target: string) => !target.startsWith("/lost");
    const allow = { routes: ["/gallery", "/market/*", "/lost"] };
    const links = [
      "/gallery",
      "/market/a?x=1#y",
      "/market",
      "/markets",
      "/gallery/x",
      "/lost",
      "/market/../settings",
      "/market/%2e%2e/settings",
      "//other.example/gallery",
      "https://example.com/gallery",
    ];
    const text = links.map((href) => `[${href}](${href})`).join(" ");
    const view = show(<Markdown text={text} />, { allow, navigation: { navigate, knows } });
    for (const a of view.container.querySelectorAll("a")) {
      const own = ["/gallery", "/market/a?x=1#y"].includes(a.textContent ?? "");
      expect([a.textContent, a.target]).toEqual([a.textContent, own ? "" : "_blank"]);
      const stayed = fireEvent.click(a);
      expect([a.textContent, stayed]).toEqual([a.textContent, !own]);
    }
    expect(navigate.mock.calls).toEqual([["/gallery"], ["/market/a?x=1#y"]]);
    const [first] = view.container.querySelectorAll("a");
    document.addEventListener("click", (event) => event.preventDefault(), { once: true });
    if (first) fireEvent.click(first, { ctrlKey: true });
    expect(navigate).toHaveBeenCalledTimes(2);
    view.unmount();
    const without = show(<Markdown text={text} />, { navigation: { navigate } });
    for (const a of without.container.querySelectorAll("a")) expect(a.target).toBe("_blank");
  });

  it("do not fetch foreign images, but name their host", () => {
    const host = drawn("![chart](https://track.example/p.png?u=1)");
    expect(host.querySelector("img")).toBeNull();
    expect(host.textContent).toContain("chart");
    expect(host.textContent).toContain("track.example");
    expect(host.querySelector("a")?.getAttribute("href")).toBe("https://track.example/p.png?u=1");
  });

  it("fetch what the page allows, and what is its own", () => {
    const allow = { image_hosts: ["images.example", "*.cdn.example"] };
    expect(imagePlace("https://images.example/a.png", allow).kind).toBe("load");
    expect(imagePlace("https://eu.cdn.example/a.png", allow).kind).toBe("load");
    expect(imagePlace("https://cdn.example.evil.example/a.png", allow).kind).toBe("link");
    expect(imagePlace("http://images.example/a.png", allow).kind).toBe("link");
    expect(imagePlace("/v1/assets/a/content", undefined).kind).toBe("load");
    expect(imagePlace("//images.example/a.png", allow).kind).toBe("none");
    expect(imagePlace("data:image/png;base64,AAAA", { image_hosts: ["*"] }).kind).toBe("none");
    expect(hostListed("EXAMPLE.com", ["example.com"])).toBe(true);
  });

  it.each(["https://a.example", "http://a.example/b", "mailto:a@b.example", "#x", "/x"])(
    "%s is safe",
    (url) => {
      expect(safeHref(url)).toBe(url);
    },
  );

  it("say where they lead when the page lists its hosts", () => {
    const { container } = render(
      <Around>
        <Markdown
          text="[ours](https://docs.example/x) and [theirs](https://other.example/x)"
          allow={{ link_hosts: ["docs.example"] }}
        />
      </Around>,
    );
    expect(container.textContent).toBe("ours and theirs (other.example)");
  });
});

describe("what is drawn", () => {
  it("shows emphasis before Chinese text", () => {
    const host = drawn("**标题：**内容和**“引文”**后");
    expect([...host.querySelectorAll("strong")].map((s) => s.textContent)).toEqual([
      "标题：",
      "“引文”",
    ]);
  });

  it("keeps a single tilde", () => {
    expect(drawn("需要 3~5 天，或 1~2 周").querySelector("del")).toBeNull();
  });

  it("resolves references across parts, also late ones", () => {
    const host = drawn("See [docs][d] and [d].\n\nMore.\n\n[d]: https://example.com/docs");
    expect([...host.querySelectorAll("a")].map((a) => a.getAttribute("href"))).toEqual([
      "https://example.com/docs",
      "https://example.com/docs",
    ]);
  });

  it("keeps the numbers of a list that is interrupted", () => {
    expect(drawn("1. a\n\ntext\n\n2. b").querySelectorAll("ol")[1]?.getAttribute("start")).toBe(
      "2",
    );
  });

  it("draws a loose list as one", () => {
    const host = drawn("1. a\n\n2. b\n\n   more\n\n3. c");
    expect(host.querySelectorAll("ol")).toHaveLength(1);
    expect(host.querySelectorAll("li")).toHaveLength(3);
  });

  it("keeps headings below those of the page", () => {
    const host = drawn("# One\n\n## Two");
    expect(host.querySelector("h1, h2")).toBeNull();
    expect(host.querySelector("h3.inlay-md-h1")?.textContent).toBe("One");
  });

  it("draws what is over only once", () => {
    const text = "First part.\n\nSecond **part**.\n\nThird";
    const { container, rerender } = render(
      <Around>
        <Markdown text={text} streaming />
      </Around>,
    );
    const kept = [...container.querySelectorAll("p")].slice(0, 2);
    const strong = container.querySelector("strong");
    rerender(
      <Around>
        <Markdown text={`${text} part grows.\n\n- list`} streaming />
      </Around>,
    );
    rerender(
      <Around>
        <Markdown text={`${text} part grows.\n\n- list`} />
      </Around>,
    );
    expect([...container.querySelectorAll("p")].slice(0, 2)).toEqual(kept);
    expect(container.querySelector("strong")).toBe(strong);
  });
});

describe("code", () => {
  it("is coloured in whole lines while it arrives, and never loses its colour", async () => {
    await loadHighlighter();
    const code = "const a = 1;\nconst b = 'two';\nfunction f() {\n  return a;\n}\n";
    const { container, rerender } = render(
      <Around>
        <Markdown text={"```js\n"} streaming />
      </Around>,
    );
    let lines: string[] = [];
    let element: Element | null = null;
    for (let n = 1; n <= code.length; n++) {
      await act(async () => {
        rerender(
          <Around>
            <Markdown text={`\`\`\`js\n${code.slice(0, n)}`} streaming />
          </Around>,
        );
      });
      const now = container.querySelector("code");
      element ??= now;
      expect(now).toBe(element);
      const done = (now?.innerHTML ?? "").split("\n").slice(0, -1);
      lines.forEach((line, i) => {
        if (line.includes("inlay-hl-")) {
          expect(done[i]).toBe(line);
        }
      });
      lines = done;
    }
    await act(async () => {
      rerender(
        <Around>
          <Markdown text={`\`\`\`js\n${code}\`\`\`\n\nEnd`} />
        </Around>,
      );
    });
    expect(container.querySelector("code")).toBe(element);
    expect(container.querySelectorAll(".inlay-hl-keyword").length).toBeGreaterThan(2);
  });

  it("grows in steps when long, and stays plain when huge", () => {
    expect(colouredLength("a\nb", true)).toBe(2);
    expect(colouredLength("a\nb", false)).toBe(3);
    const long = "line\n".repeat(4000);
    expect(long.length - colouredLength(long, true)).toBeLessThan(4010);
    expect(colouredLength("x".repeat(200_000), false)).toBe(0);
  });

  it("of an unknown language is plain, and is not run", async () => {
    await loadHighlighter();
    const host = drawn("```nosuch\n<script>alert(1)</script>\n```");
    expect(host.querySelector("script")).toBeNull();
    expect(host.querySelector("code")?.textContent).toBe("<script>alert(1)</script>");
  });
});

describe("cost", () => {
  it("of one more character does not grow with the answer", () => {
    const part = "A paragraph with **bold** words and a [link](https://example.com).\n\n";
    const text = part.repeat(3000);
    const pieces = splitMarkdown(text);
    const again = splitMarkdown(`${text}x`, { text, pieces });
    expect(again).toHaveLength(pieces.length + 1);
    expect(again[0]).toBe(pieces[0]);
  });

  it("of a long list stays that of its end", () => {
    const pieces = splitMarkdown("- an item of the list, with some words\n".repeat(2000));
    expect(Math.max(...pieces.map((p) => p.text.length))).toBeLessThan(6200);
  });
});

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { closePage, launchBrowser, openPage } from "../lib/browser.mjs";
import {
  answers,
  ask,
  assertClean,
  blocks,
  conversationId,
  drawn,
  lastAnswer,
  readable,
  reads,
  saying,
  settled,
  stopButton,
  until,
} from "../lib/chat.mjs";
import { sentences, sentencesText, startModel } from "../lib/model.mjs";
import { startProxy } from "../lib/proxy.mjs";
import { startServer } from "../lib/server.mjs";

const count = 80;
const whole = sentencesText(count);

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof startModel>>} */
let model;
/** @type {import("../lib/server.mjs").Server} */
let server;
/** Whether the model goes slowly enough to do something in the middle of an answer. */
let pace = 30;
/** How many sentences the model says until it may go on, however long what is done meanwhile takes. */
let most = Number.POSITIVE_INFINITY;

/** The sentences of an answer, at the pace that a test wants. @param {number} n */
function* paced(n) {
  let said = 0;
  for (const step of sentences(n, pace)) {
    if (typeof step === "string") {
      while (said >= most) yield { wait: 10 };
      said++;
    }
    yield step;
  }
}

before(async () => {
  browser = await launchBrowser();
  model = await startModel(function* (question, results) {
    if (question.includes("chart")) {
      if (results === 0) {
        yield* sentences(8, 10, "Before");
        yield { call: "show_sales_chart", args: { quarter: "2026Q3" } };
      } else yield* sentences(16, 10, "After");
      return;
    }
    yield* paced(question.includes("endless") ? 2000 : count);
  });
});
after(async () => {
  await browser?.close();
  await model?.stop();
});
beforeEach(() => {
  pace = 30;
  most = Number.POSITIVE_INFINITY;
});

/** The text the server keeps of the last message. @param {string} conversation */
async function stored(conversation) {
  const message = (await server.messages(conversation)).at(-1);
  return message.blocks
    .filter((/** @type {any} */ b) => b.type === "text")
    .map((/** @type {any} */ b) => b.payload)
    .join(" ")
    .replace(/\s+/g, " ")
    .trim();
}

/**
 * Waits for a sentence of the running answer.
 * @param {import("playwright-core").Page} page
 * @param {number} n
 */
const sentence = (page, n) =>
  page.waitForFunction(
    (text) => document.querySelector(".page-feed")?.textContent?.includes(text),
    `Sentence ${n} of`,
  );

/**
 * Cuts the first stream of an answer once it has passed a text, and refuses
 * everything from then on.
 * @param {import("../lib/proxy.mjs").Proxy} proxy
 * @param {string} text
 * @param {"reset" | "end"} how
 */
function cutAt(proxy, text, how) {
  proxy.rule = (path, sent) => {
    if (proxy.cuts > 0 || !path.startsWith("/v1/chat") || !sent.includes(text)) return "go";
    proxy.down = true;
    return how;
  };
}

describe("one server", () => {
  before(async () => {
    server = await startServer(model.env);
  });
  after(() => server?.stop());

  test("an answer goes on after a reload in its middle", async () => {
    const page = await openPage(browser, server.url);
    most = 0;
    await ask(page, "Tell me something long.");
    for (const part of [0.3, 0.6, 0.9]) {
      const at = Math.round(count * part);
      // It goes on while the page is loaded, but not to its end.
      most = at + 7;
      await sentence(page, at);
      await page.reload();
      await lastAnswer(page).waitFor();
      await sentence(page, at);
      const text = await readable(lastAnswer(page));
      assert.ok(whole.startsWith(text), `not a beginning of the answer: ${text}`);
      await stopButton(page).waitFor();
    }
    most = Number.POSITIVE_INFINITY;
    await settled(page);
    await reads(lastAnswer(page), whole);
    const id = await conversationId(page);
    assert.equal(await stored(id), whole);
    assert.equal(await answers(page).count(), 1);

    // The same bytes for whoever reads it from the first event on.
    const { id: message } = (await server.messages(id)).at(-1);
    const read = async () =>
      (await fetch(`${server.url}/v1/messages/${message}/events?after=0`)).text();
    assert.equal(await read(), await read());
    assertClean(page);
    await closePage(page);
  });

  test("a second question after a reload leaves the first answer alone", async () => {
    const page = await openPage(browser, server.url);
    pace = 0;
    await ask(page, "The first.");
    await settled(page);
    pace = 30;
    most = 40;
    await ask(page, "The second.");
    await page.waitForFunction(() =>
      document.querySelectorAll("article")[3]?.textContent?.includes("Sentence 20 of"),
    );
    await page.reload();
    await stopButton(page).waitFor();
    most = Number.POSITIVE_INFINITY;
    await settled(page, 2);
    assert.equal(await answers(page).count(), 2);
    await reads(answers(page).nth(0), whole);
    await reads(answers(page).nth(1), whole);
    assertClean(page);
    await closePage(page);
  });

  test("two tabs stay in step, and either can stop", async () => {
    const first = await openPage(browser, server.url);
    pace = 0;
    await ask(first, "To begin with.");
    await settled(first);
    const id = await conversationId(first);
    const second = await openPage(browser, server.url, {
      context: first.context(),
      path: `/#/c/${id}`,
    });
    await settled(second);

    pace = 30;
    const broken = model.hungUp();
    await ask(first, "An endless story.");
    await second.waitForFunction(() =>
      document.querySelectorAll("article")[3]?.textContent?.includes("Sentence 10 of"),
    );
    assert.match(await second.locator("article").nth(2).innerText(), /An endless story/);
    const early = (await readable(lastAnswer(second))).length;
    await until("it grows in the second tab", async () => {
      return (await readable(lastAnswer(second))).length > early + 200;
    });
    await stopButton(second).click();
    await until("the model is told to stop", () => model.hungUp() > broken, 10_000);
    for (const page of [first, second]) {
      await settled(page, 2);
      await saying(lastAnswer(page), /You stopped this answer/);
    }
    await reads(lastAnswer(first), await stored(id));
    await reads(lastAnswer(second), await stored(id));
    const message = (await server.messages(id)).at(-1);
    assert.equal(message.status, "cancelled");
    const rest = await fetch(`${server.url}/v1/messages/${message.id}/events?after=${message.seq}`);
    assert.equal(rest.status, 204);
    await first.reload();
    await settled(first, 2);
    await saying(lastAnswer(first), /You stopped this answer/);
    assertClean(first);
    assertClean(second);
    await closePage(first);
  });

  for (const how of /** @type {const} */ (["reset", "end"])) {
    const name = how === "reset" ? "reset" : "ended as if complete";
    test(`a connection that is ${name} in a text is taken up again`, async () => {
      const proxy = await startProxy(server.url);
      const page = await openPage(browser, proxy.url);
      cutAt(proxy, "Sentence 20 of", how);
      await ask(page, "Tell me something long.");
      await page.getByText("Reconnecting…").waitFor();
      assert.equal(await lastAnswer(page).getAttribute("data-status"), "running");
      proxy.down = false;
      await settled(page);
      await reads(lastAnswer(page), whole);
      await page.getByText("Reconnecting…").waitFor({ state: "detached" });
      assert.equal(await page.locator(".page-error").count(), 0);
      assert.equal(proxy.cuts, 1);
      const posts = proxy.requests.filter((r) => r === "POST /v1/chat");
      assert.equal(posts.length, 1, "the question is asked once");
      await closePage(page);
      await proxy.stop();
    });

    test(`a connection that is ${name} in a block is taken up again`, async () => {
      const proxy = await startProxy(server.url);
      const page = await openPage(browser, proxy.url);
      cutAt(proxy, "event: block_start", how);
      await ask(page, "Show a chart.");
      await page.getByText("Reconnecting…").waitFor();
      proxy.down = false;
      await settled(page);
      assert.equal(proxy.cuts, 1);
      assert.equal(await blocks(page, "chart").count(), 1);
      await drawn(blocks(page, "chart"));
      await reads(lastAnswer(page), `${sentencesText(8, "Before")} ${sentencesText(16, "After")}`);
      await closePage(page);
      await proxy.stop();
    });
  }

  test("an answer arrives whole through a wire that splits every byte", async () => {
    const proxy = await startProxy(server.url);
    proxy.slice = 1;
    pace = 1;
    const page = await openPage(browser, proxy.url);
    await ask(page, "各区域🎉 chart");
    await settled(page);
    await drawn(blocks(page, "chart"));
    assert.match(await page.locator("article").first().innerText(), /各区域🎉 chart/);
    assert.doesNotMatch(await page.locator(".page-feed").innerText(), /\ufffd/);
    assertClean(page);
    await closePage(page);
    await proxy.stop();
  });

  test("while the network is gone the page says so and keeps the text", async () => {
    const proxy = await startProxy(server.url);
    const page = await openPage(browser, proxy.url);
    await ask(page, "Tell me something long.");
    await sentence(page, 10);
    // Going offline alone leaves open connections as they are.
    await page.context().setOffline(true);
    proxy.reset();
    await page.getByText(/You are offline/).waitFor();
    const text = await readable(lastAnswer(page));
    assert.ok(text.length > 0 && whole.startsWith(text));
    await page.context().setOffline(false);
    await settled(page);
    await reads(lastAnswer(page), whole);
    await until("the note is gone", async () => {
      return (await page.getByText(/You are offline/).count()) === 0;
    });
    await closePage(page);
    await proxy.stop();
  });
});

test("a server that crashes leaves an answer that can be asked for again", async () => {
  server = await startServer(model.env);
  const page = await openPage(browser, server.url);
  pace = 0;
  await ask(page, "To begin with.");
  await settled(page);
  pace = 30;
  most = 40;
  await ask(page, "Tell me something long.");
  await page.waitForFunction(() =>
    document.querySelectorAll("article")[3]?.textContent?.includes("Sentence 20 of"),
  );
  await server.crash();
  await page.getByText("Reconnecting…").waitFor();
  const shown = await readable(lastAnswer(page));
  await sleep(300);
  await server.again();
  const answer = await settled(page, 2);
  await saying(answer, /The server was restarted while it was answering/);
  await until("nothing that was shown is lost", async () => {
    return (await readable(answer)).startsWith(shown);
  });
  const id = await conversationId(page);
  assert.ok((await stored(id)).startsWith(shown));
  await reads(answers(page).nth(0), whole);

  pace = 0;
  most = Number.POSITIVE_INFINITY;
  await answer.locator(".page-error").getByRole("button", { name: "Answer again" }).click();
  await reads(lastAnswer(page), whole);
  await saying(lastAnswer(page), /2\/2/);
  await closePage(page);
  await server.stop();
});

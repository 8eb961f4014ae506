import { until } from "./chat.mjs";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {import("playwright-core").Locator} Locator */

/** The button of an action inside a block. @param {Locator} block @param {string} id */
export const actionButton = (block, id) => block.locator(`[data-action-id="${id}"]`);

/** The question that is asked before an action runs. @param {Page} page */
export const question = (page) => page.getByRole("alertdialog");

/** Answers that question with its first or last button. @param {Page} page @param {boolean} yes */
export async function answerQuestion(page, yes) {
  const dialog = question(page);
  const buttons = dialog.locator(".inlay-dialog-foot button");
  await (yes ? buttons.last() : buttons.first()).click();
  await dialog.waitFor({ state: "detached" });
}

/** Waits for a notice in the corner of the page. @param {Page} page @param {RegExp} text */
export const noticed = (page, text) =>
  page.locator(".inlay-notice").filter({ hasText: text }).first().waitFor();

/**
 * The state of a block as the server keeps it, once it is a certain one.
 * @param {import("./server.mjs").Server} server
 * @param {string} conversationId
 * @param {string} type
 * @param {string} status
 */
export function stateOf(server, conversationId, type, status) {
  return until(`the ${type} is ${status}`, async () => {
    const message = (await server.messages(conversationId)).at(-1);
    const block = message.blocks.find((/** @type {any} */ b) => b.type === type);
    return block?.state?.status === status ? block.state : undefined;
  });
}

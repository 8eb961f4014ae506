/** What the message field holds after a command was put into it, and where the caret is then. */
export interface Prefilled {
  text: string;
  caret: number;
}

/**
 * Puts a slash command into a draft. A command is only one at the very start
 * of a message, so it takes the place of one that stands there, and goes above
 * anything else that was written: nothing of the reader's own words is lost.
 */
export function prefilled(draft: string, command: string): Prefilled {
  const rest = draft.startsWith("/") ? draft.replace(/^[^\n]*/, "") : `\n${draft}`;
  const text = rest.trim() === "" ? command : command + rest;
  return { text, caret: command.length };
}

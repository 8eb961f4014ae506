import type { Envelope, Message } from "@inlay-ui/client";

/**
 * Whether the reader still waits for an answer: it runs, and is not complete.
 * What the server may add to a complete one, such as a suggestion of what to do
 * next, nobody waits for.
 */
export function isAnswering(message: Message): boolean {
  return message.status === "running" && message.answered !== true;
}

/**
 * Whether events leave the answer complete: the last one that is part of it
 * ended a text. Undefined when none of them is part of it.
 */
export function endsAnswer(events: readonly Envelope[]): boolean | undefined {
  const last = events.findLast((event) => !isAside(event));
  return last && last.event === "text_end";
}

/** Whether an event says nothing of the answer: it adds what no answer waits for. */
function isAside(event: Envelope): boolean {
  if (event.event === "annotation" || event.event === "block_state") return true;
  return event.event === "block_end" && event.data.meta?.producer === "recommender";
}

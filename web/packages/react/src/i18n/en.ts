import { actionsEn } from "./actions.en.ts";
import { blocksEn } from "./blocks.en.ts";
import { mediaEn } from "./media.en.ts";

/** The English words. Keys ending in `.one` and `.other` are chosen by `count`. */
export const en: Record<string, string> = {
  ...blocksEn,
  ...mediaEn,
  ...actionsEn,
  "chat.block.loading": "Loading {title}",
  "chat.block.loadingUntitled": "Loading",
  "chat.block.asOf": "As of {time}",
  "chat.block.source": "Source: {source}",
  "chat.block.inPart": "Shown in part: this page knows an older version of this kind of content.",
  "chat.block.unknown": "This page cannot show this kind of content.",
  "chat.block.invalid": "This content could not be checked, so it is shown as text.",
  "chat.block.crashed": "This content could not be drawn.",
  "chat.block.refreshFailed": "Not refreshed: {reason}",
  "chat.block.truncated": "Only a part of the data is shown.",
  "chat.block.tryAgain": "Try again",
  "chat.block.confirm": "Are you sure?",
  "chat.block.cancel": "Cancel",
  "chat.block.busy": "Working…",
  "chat.menu.open": "More for {title}",
  "chat.menu.openUntitled": "More",
  "chat.menu.refresh": "Refresh",
  "chat.error.DATA_FETCH_FAILED": "The data could not be loaded.",
  "chat.error.TOOL_TIMEOUT": "Loading the data took too long.",
  "chat.error.TOOL_PANIC": "Something went wrong while the data was loaded.",
  "chat.error.SCHEMA_INVALID": "The data does not have the form that was expected.",
  "chat.error.PAYLOAD_TOO_LARGE": "The data is too large to be shown.",
  "chat.error.HYDRATE_TIMEOUT": "The data has not arrived in time.",
  "chat.error.CANCELLED": "Stopped before it was complete.",
  "chat.error.INTERRUPTED": "Interrupted before it was complete.",
  "chat.error.NOT_FOUND": "The data does not exist.",
  "chat.error.NOT_AUTHORIZED": "You may not see this data.",
  "chat.error.network": "The server could not be reached.",
  "chat.error.other": "Something went wrong ({code}).",
};

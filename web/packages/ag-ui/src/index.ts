/** The client of AG-UI for Inlay servers. Needs no framework. */

export { InlayAgent, type InlayAgentConfig } from "./agent.ts";
export { type ActivityLike, blockOf, type PlacedBlock } from "./block.ts";

import type { RendererEntry } from "../registry.ts";

/** The renderers that come with this package. */
export const builtinRenderers: RendererEntry[] = [];

import { builtinRenderers } from "./blocks/index.ts";
import { BlockRegistry, type RendererEntry } from "./registry.ts";

let shared: BlockRegistry | undefined;

/** The registry that providers start from: the built-in renderers and those registered for all. */
export function defaultRegistry(): BlockRegistry {
  shared ??= new BlockRegistry(builtinRenderers);
  return shared;
}

/** Registers a renderer for every provider. Call it before the first one is drawn. */
export function registerBlock(entry: RendererEntry): void {
  defaultRegistry().add(entry);
}

/** What a client with these renderers declares to the server. */
export function clientCapabilityTokens(registry: BlockRegistry = defaultRegistry()): string[] {
  return registry.tokens();
}

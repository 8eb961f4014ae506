import type { Block } from "@inlay-ui/client";
import { type ComponentType, type LazyExoticComponent, lazy } from "react";
import type { Translate } from "./i18n/index.ts";

/** What a renderer gets. */
export interface BlockProps<P = unknown> {
  block: Block<P>;
  payload: P;
  messageId: string;
  /** The payload may be partial (it is still arriving) or old (it is being refreshed). */
  loading: boolean;
}

/** One entry of a block's menu. */
export interface MenuItem {
  id: string;
  label: string;
  run(): void | Promise<void>;
  /** Present on entries that switch something. */
  pressed?: boolean;
  disabled?: boolean;
}

type Renderer<P> = ComponentType<BlockProps<P>> | LazyExoticComponent<ComponentType<BlockProps<P>>>;

/** How one major version of a block type is drawn. */
export interface RendererSpec<P> {
  /** `[namespace.]name`, built-ins without their namespace. */
  type: string;
  major: number;
  component?: Renderer<P>;
  /** Loads the component when it is first needed; tried again after a failure. */
  load?: () => Promise<{ default: ComponentType<BlockProps<P>> }>;
  /**
   * Says what is wrong with a payload, or null. A wrong one is shown as its
   * fallback text; one that is still arriving (`loading`) as a skeleton.
   */
  check?(payload: unknown, loading: boolean): string | null;
  menu?(props: BlockProps<P>, t: Translate): MenuItem[];
  /** The height of its body until it is loaded, where the server estimates none. */
  height?: number;
  /** Drawn without header and frame, as text is. */
  bare?: boolean;
  /** It shows the payload's title itself, so that the frame heads it with `meta.title` alone. */
  titled?: boolean;
  /**
   * The ids of the actions that the renderer itself offers; the others are
   * buttons below it. `all` also says that it shows the block's state.
   */
  ownActions?(block: Block<P>): readonly string[] | "all";
}

/** A renderer in a registry. Made by {@link defineRenderer}, which checks the payload's type. */
export type RendererEntry = RendererSpec<unknown>;

/** Makes an entry of a renderer with a typed payload; `check` stands for that type. */
export function defineRenderer<P>(spec: RendererSpec<P>): RendererEntry {
  return spec as unknown as RendererEntry;
}

/** An entry that was found, and whether it was made for an older major version. */
export interface Found {
  entry: RendererEntry;
  component: Renderer<unknown>;
  older: boolean;
}

/** What the name of a type must be for the server to understand the client's declaration. */
const name = /^[a-z0-9_-]{1,64}(?:\.[a-z0-9_-]{1,64})*$/;

/** The renderers that a client has. */
export class BlockRegistry {
  readonly #entries = new Map<string, RendererEntry[]>();
  readonly #loaded = new Map<RendererEntry, Renderer<unknown>>();

  constructor(entries: Iterable<RendererEntry> = []) {
    for (const entry of entries) this.add(entry);
  }

  /**
   * Adds a renderer; a later one for the same type and major takes the place of
   * the earlier. Throws for one whose type could not be declared to a server.
   */
  add(entry: RendererEntry): void {
    if (!name.test(entry.type)) {
      throw new Error(
        `${JSON.stringify(entry.type)} is no name of a block type: parts of 1 to 64 lower-case letters, digits, _ and -, with dots between them`,
      );
    }
    if (!Number.isInteger(entry.major) || entry.major < 1 || entry.major > 2 ** 31 - 1) {
      throw new Error(`${entry.major} is no major version of ${entry.type}: a whole number from 1`);
    }
    if (!entry.component && !entry.load) {
      throw new Error(`the renderer of ${entry.type}@${entry.major} has no component`);
    }
    const type = shortName(entry.type);
    const others = (this.#entries.get(type) ?? []).filter((e) => e.major !== entry.major);
    this.#entries.set(
      type,
      [...others, entry].sort((a, b) => b.major - a.major),
    );
  }

  /** The renderer of that version, else the newest older one. */
  find(type: string, version: number): Found | null {
    const entry = this.#entries.get(shortName(type))?.find((e) => e.major <= version);
    if (!entry) return null;
    let component = entry.component ?? this.#loaded.get(entry);
    if (!component) {
      component = lazy(entry.load ?? (() => Promise.reject(new Error("no component"))));
      this.#loaded.set(entry, component);
    }
    return { entry, component, older: entry.major < version };
  }

  /** Forgets a component whose loading failed, so that the next draw loads it again. */
  forget(entry: RendererEntry): void {
    this.#loaded.delete(entry);
  }

  /** All entries, by type. */
  entries(): RendererEntry[] {
    return [...this.#entries.values()].flat();
  }

  /** What this client can draw, as the server wants to hear it: `chart@1`. */
  tokens(): string[] {
    return this.entries()
      .map((e) => `${shortName(e.type)}@${e.major}`)
      .sort();
  }
}

function shortName(type: string): string {
  return type.startsWith("inlay.") ? type.slice("inlay.".length) : type;
}

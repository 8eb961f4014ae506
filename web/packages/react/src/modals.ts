import type { Block } from "@inlay-ui/client";
import type { ComponentType } from "react";

/** What a modal gets. */
export interface ModalProps {
  /** What the one who opens it gave along; nobody has checked what stands in it. */
  params: Record<string, unknown>;
  /** Takes the modal away. */
  close(): void;
  /** The block whose item opened it. */
  block?: Block;
}

/** A modal: its component, or how to load it when it is first opened. It draws its own `Dialog`. */
export type ModalEntry =
  | ComponentType<ModalProps>
  | { load: () => Promise<{ default: ComponentType<ModalProps> }> };

const grammar = /^[a-z][a-z0-9_-]{0,63}$/;
const registered: Record<string, ModalEntry> = {};

/** Registers a modal for every provider. Call it before the first one is drawn. */
export function registerModal(name: string, entry: ModalEntry): void {
  registered[checkedName(name)] = entry;
}

/** The modals that were registered for all, with a provider's own, which win. */
export function withRegistered(own: Record<string, ModalEntry> = {}): Record<string, ModalEntry> {
  for (const name of Object.keys(own)) checkedName(name);
  return { ...registered, ...own };
}

function checkedName(name: string): string {
  if (grammar.test(name)) return name;
  throw new Error(
    `${JSON.stringify(name)} is no name of a modal: a lower-case letter, then letters, digits, _ or -`,
  );
}

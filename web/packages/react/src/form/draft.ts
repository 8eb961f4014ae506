/*
 * What was filled in and not sent yet survives a reload. It stays in this
 * browser, is bounded, and never holds passwords.
 */

const prefix = "inlay:draft:";
/** The most characters of one draft. */
const MAX_DRAFT = 64 * 1024;
/** The most drafts; the oldest go first. */
const MAX_DRAFTS = 20;

interface Draft {
  at: number;
  values: Record<string, unknown>;
}

function storage(): Storage | null {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    // Forbidden, such as in a sandboxed frame.
    return null;
  }
}

function read(store: Storage, key: string): Draft | null {
  try {
    const draft: unknown = JSON.parse(store.getItem(key) ?? "null");
    if (typeof draft !== "object" || draft === null || !("values" in draft)) return null;
    const { values, at } = draft as Draft;
    return typeof values === "object" && values !== null ? { values, at: Number(at) || 0 } : null;
  } catch {
    return null;
  }
}

function keys(store: Storage): string[] {
  const found: string[] = [];
  for (let i = 0; i < store.length; i++) {
    const key = store.key(i);
    if (key?.startsWith(prefix)) found.push(key);
  }
  return found;
}

/** The draft of a block's form, if there is one. */
export function loadDraft(blockId: string): Record<string, unknown> | null {
  const store = storage();
  return store && (read(store, prefix + blockId)?.values ?? null);
}

/** Keeps a draft, in the place of an older one. One that is too large is not kept. */
export function saveDraft(blockId: string, values: Record<string, unknown>): void {
  const store = storage();
  if (!store) return;
  const text = JSON.stringify({ at: Date.now(), values } satisfies Draft);
  try {
    if (text.length > MAX_DRAFT) {
      store.removeItem(prefix + blockId);
      return;
    }
    store.setItem(prefix + blockId, text);
    const others = keys(store).map((key) => ({ key, at: read(store, key)?.at ?? 0 }));
    others.sort((a, b) => b.at - a.at);
    for (const { key } of others.slice(MAX_DRAFTS)) store.removeItem(key);
  } catch {
    // The storage is full: the form works without.
  }
}

/** Forgets a draft. */
export function dropDraft(blockId: string): void {
  storage()?.removeItem(prefix + blockId);
}

/** Forgets all drafts, such as when a person signs out. */
export function clearDrafts(): void {
  const store = storage();
  if (store) for (const key of keys(store)) store.removeItem(key);
}

/** The thread that the address names; a new one when it names none. */
export function threadOfPage(): { id: string; known: boolean } {
  const named = decodeURIComponent(location.hash.slice(1));
  const id = named || crypto.randomUUID();
  if (!named) history.replaceState(null, "", `#${id}`);
  return { id, known: named !== "" };
}

/** Leaves the thread for a new one. */
export function newThread(): void {
  history.replaceState(null, "", location.pathname);
  location.reload();
}

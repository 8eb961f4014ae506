import { useCallback, useSyncExternalStore } from "react";
import { formatRoute, parseRoute } from "../route.ts";

function subscribe(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

/** The conversation in the page's address, and a way to go to another one. */
export function useRoute(): {
  conversationId: string | null;
  go: (conversationId: string | null, how?: "push" | "replace") => void;
} {
  const hash = useSyncExternalStore(subscribe, () => window.location.hash);
  const go = useCallback((conversationId: string | null, how: "push" | "replace" = "push") => {
    const next = formatRoute({ conversationId });
    if (next === window.location.hash) return;
    if (how === "push") {
      window.location.hash = next;
      return;
    }
    window.history.replaceState(window.history.state, "", next);
    // Replacing the address does not tell anybody.
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  }, []);
  return { conversationId: parseRoute(hash).conversationId, go };
}

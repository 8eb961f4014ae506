import type { ModalEntry } from "@inlay-ui/react";

/** The sample modals by name: what a page brings for a business of its own. Each is loaded when it is first opened. */
export const samples: Record<string, ModalEntry> = {
  deposit: { load: () => import("./Deposit.tsx") },
  withdraw: { load: () => import("./Withdraw.tsx") },
};

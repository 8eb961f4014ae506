import type { Block, FeatureRecommendationItem as Item } from "@inlay-ui/client";
import { allowsTarget, checkTarget, type TargetAction } from "@inlay-ui/client/validate";
import { type ComponentType, createElement, Suspense } from "react";
import { allowedUrl } from "../allow.ts";
import type { Allow, Navigation } from "../context.ts";
import type { Translate } from "../i18n/index.ts";
import type { ModalEntry, ModalProps } from "../modals.ts";
import type { Notices } from "../notices.ts";

/** What stands around a block whose items are followed. */
export interface Surroundings {
  allow: Allow;
  navigation: Navigation | undefined;
  modals: Readonly<Record<string, ModalEntry>>;
  notices: Notices;
  t: Translate;
}

/** Where addresses lead when neither the page nor its server says where they may. */
const usualHosts = ["minara.ai", "www.minara.ai", "agent.minara.ai"];

/** What an item needs that this page does not have, or null when it can be chosen. */
export function lacks(
  action: TargetAction,
  {
    allow,
    navigation,
    modals,
  }: Pick<Surroundings, "allow" | "navigation"> & { modals: readonly string[] },
): "route" | "slash" | "modal" | null {
  const { kind } = action;
  if (kind === "external") return null;
  const { routes, slash } = allow;
  const here =
    kind === "route"
      ? navigation !== undefined && (navigation.knows?.(action.target) ?? true)
      : kind === "slash"
        ? navigation?.prefill !== undefined
        : modals.includes(action.name);
  return here && allowsTarget(action, { routes, slash, modals: allow.modals }) ? null : kind;
}

/**
 * Does what an item is for, if it may: all that was checked before is checked
 * again here, where it counts. Says whether it was done.
 */
export async function follow(around: Surroundings, block: Block, item: Item): Promise<boolean> {
  const { action } = item;
  const problem = refusal(action, around);
  if (problem !== null) {
    console.warn(`inlay: item ${item.id} of block ${block.id} is not followed: ${problem}`);
    return false;
  }
  switch (action.kind) {
    case "route":
      around.navigation?.navigate(action.target);
      return true;
    case "slash":
      around.navigation?.prefill?.(action.command);
      return true;
    case "external":
      window.open(action.url, "_blank", "noopener,noreferrer");
      return true;
    case "modal":
      return open(around, block, action.name, action.params);
  }
}

function refusal(action: TargetAction, around: Surroundings): string | null {
  const problem = checkTarget(action, { modals: "any", open: true });
  if (problem !== null) return problem;
  if (action.kind === "external") {
    const hosts = around.allow.link_hosts ?? usualHosts;
    // Once by the rules of the protocol, once as the browser reads the address.
    const allowed = allowsTarget(action, { hosts }) && allowedUrl(action.url, hosts) !== null;
    return allowed ? null : `X1: the host of ${action.url} is not allowed`;
  }
  if (action.kind === "route" && !staysHere(action.target)) {
    return "R9: the browser reads the route differently";
  }
  const missing = lacks(action, { ...around, modals: Object.keys(around.modals) });
  return missing && `its ${missing} is not known or not allowed here`;
}

/** Whether the browser takes a route for what it says: a path of this origin, written as it would write it. */
function staysHere(target: string): boolean {
  // A page without an origin, such as a file, is judged as if it had one.
  const origin = location.origin.startsWith("http") ? location.origin : "https://page.invalid";
  const url = new URL(target, origin);
  return url.origin === origin && url.pathname + url.search + url.hash === target;
}

async function open(
  around: Surroundings,
  block: Block,
  name: string,
  params: Record<string, unknown> = {},
): Promise<boolean> {
  const { notices, t } = around;
  const entry = around.modals[name];
  if (!entry) return false;
  let component: ComponentType<ModalProps>;
  try {
    component = "load" in entry ? (await entry.load()).default : entry;
  } catch {
    const retry = () => void open(around, block, name, params);
    notices.say({ tone: "bad", text: t("chat.error.network"), retry });
    return false;
  }
  void notices.show<void>(undefined, (end) =>
    // A modal may keep and change what it was given; the block must stay as it is.
    createElement(
      Suspense,
      { fallback: null },
      createElement(component, { params: structuredClone(params), close: () => end(), block }),
    ),
  );
  return true;
}

/** Blocks of an Inlay server in front ends that speak AG-UI. */

import { InlayClient } from "@inlay-ui/client";
import { clientCapabilityTokens, ForeignBlock, type ForeignOptions } from "@inlay-ui/react";
import type { ReactNode } from "react";
import { type ActivityLike, blockOf } from "./block.ts";

/** What is asked of an agent, of whichever version of AG-UI, to bring its messages up to date. */
export interface ConnectingAgent {
  connectAgent(parameters?: { forwardedProps?: Record<string, unknown> }): Promise<unknown>;
  detachActiveRun?(): Promise<void>;
  pendingInterrupts?: unknown[];
}

/** What {@link InlayActivity} takes. */
export interface InlayActivityProps extends ForeignOptions {
  message: ActivityLike;
  /** The agent of the thread; it comes back to its thread when an action added to it. */
  agent?: ConnectingAgent | undefined;
}

/**
 * Draws one activity message of an Inlay server; nothing for activities of
 * others. Its actions work, and so do retry and refresh.
 */
export function InlayActivity({ message, agent, onMore, ...options }: InlayActivityProps) {
  const placed = blockOf(message);
  if (!placed) return null;
  return (
    <ForeignBlock
      {...options}
      block={placed.block}
      messageId={placed.messageId}
      onMore={(more) => {
        onMore?.(more);
        if (agent) void reconnect(agent, options.client?.blocks ?? clientCapabilityTokens());
      }}
    />
  );
}

async function reconnect(agent: ConnectingAgent, capabilities: readonly string[]): Promise<void> {
  try {
    // What still runs is part of what it comes back to.
    await agent.detachActiveRun?.();
    // Those that still wait it is told of again; with any it would not connect.
    agent.pendingInterrupts = [];
    await agent.connectAgent({ forwardedProps: { capabilities } });
  } catch (error) {
    console.warn("inlay: the thread could not be brought up to date", error);
  }
}

/** Accepts every content: what it is says the block itself. */
export interface AnyContent {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => { readonly value: unknown };
  };
}

/** What draws activity messages of a type, as CopilotKit takes it. */
export interface ActivityRenderer {
  activityType: string;
  agentId?: string;
  content: AnyContent;
  render: (props: {
    activityType: string;
    content: unknown;
    message: ActivityLike;
    agent: ConnectingAgent | undefined;
  }) => ReactNode;
}

/** What {@link inlayActivityRenderer} takes. */
export interface RendererOptions extends ForeignOptions {
  /** The agent whose activities are drawn; all when absent. */
  agentId?: string;
}

/** An entry of CopilotKit's `renderActivityMessages` that draws all blocks. Make it once, outside of components. */
export function inlayActivityRenderer({
  agentId,
  ...options
}: RendererOptions = {}): ActivityRenderer {
  const { endpoint, ...rest } = options;
  // One for all of its blocks.
  const client =
    options.client ?? (endpoint === undefined ? undefined : new InlayClient({ endpoint }));
  return {
    activityType: "*",
    ...(agentId === undefined ? {} : { agentId }),
    content: {
      "~standard": { version: 1, vendor: "inlay", validate: (value) => ({ value }) },
    },
    render: ({ message, content, agent }) => (
      <InlayActivity {...rest} client={client} message={{ ...message, content }} agent={agent} />
    ),
  };
}

import "./page.css";
import "@inlay-ui/react/styles.css";
import { useChat } from "@ai-sdk/react";
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  type DataMessagePartProps,
  MessagePrimitive,
  type TextMessagePartProps,
  ThreadPrimitive,
  useAuiState,
} from "@assistant-ui/react";
import { useAISDKRuntime } from "@assistant-ui/react-ai-sdk";
import { inlayTransport } from "@inlay-ui/ai-sdk";
import { InlayPart } from "@inlay-ui/ai-sdk/react";
import { InlayClient } from "@inlay-ui/client";
import { BlockView, clientCapabilityTokens, InlayProvider } from "@inlay-ui/react";
import { createContext, useContext, useEffect, useRef } from "react";
import { newThread, threadOfPage } from "./thread.ts";

const client = new InlayClient();
// What is not declared arrives as text.
const transport = inlayTransport({ blocks: clientCapabilityTokens() });
const { id, known } = threadOfPage();

/** Brings the thread up to date. */
const CatchUp = createContext(() => {});

export function App() {
  const chat = useChat({ id, transport, experimental_throttle: 50 });
  const stop = async () => void (await transport.stop(id));
  const runtime = useAISDKRuntime({ ...chat, stop });
  const catchUp = () => void transport.catchUp(chat).catch(console.error);
  const first = useRef(catchUp);
  // What was said before, and what is being written.
  useEffect(() => {
    if (known) first.current();
  }, []);
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <InlayProvider client={client}>
        <CatchUp.Provider value={catchUp}>
          <Thread />
        </CatchUp.Provider>
      </InlayProvider>
    </AssistantRuntimeProvider>
  );
}

const Thread = () => (
  <ThreadPrimitive.Root className="page">
    <header className="bar">
      <h1>Inlay with assistant-ui</h1>
      <button type="button" onClick={newThread}>
        New thread
      </button>
    </header>
    <ThreadPrimitive.Viewport className="messages">
      <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage }} />
    </ThreadPrimitive.Viewport>
    <ComposerPrimitive.Root className="composer">
      <ComposerPrimitive.Input
        aria-label="Message"
        placeholder="Ask about the sample sales"
        rows={1}
      />
      <ThreadPrimitive.If running={false}>
        <ComposerPrimitive.Send type="submit">Send</ComposerPrimitive.Send>
      </ThreadPrimitive.If>
      <ThreadPrimitive.If running>
        <ComposerPrimitive.Cancel type="button">Stop</ComposerPrimitive.Cancel>
      </ThreadPrimitive.If>
    </ComposerPrimitive.Root>
  </ThreadPrimitive.Root>
);

const UserMessage = () => (
  <MessagePrimitive.Root data-role="user">
    <MessagePrimitive.Parts />
  </MessagePrimitive.Root>
);

const AssistantMessage = () => (
  <MessagePrimitive.Root data-role="assistant">
    <MessagePrimitive.Parts components={{ Text, data: { Fallback: Data } }} />
  </MessagePrimitive.Root>
);

function Data({ name, data }: DataMessagePartProps) {
  const messageId = useAuiState((state) => state.message.id);
  const onMore = useContext(CatchUp);
  const part = { type: `data-${name}`, data };
  return <InlayPart part={part} messageId={messageId} onMore={onMore} />;
}

/** A text as the blocks around it are drawn; any other renderer of Markdown would do. */
function Text({ text, status }: TextMessagePartProps) {
  const messageId = useAuiState((state) => state.message.id);
  const state = status.type === "running" ? "loading" : "done";
  const block = { id: messageId, type: "text", version: 1, rev: 1, status: state } as const;
  return <BlockView block={{ ...block, payload: text }} messageId={messageId} />;
}

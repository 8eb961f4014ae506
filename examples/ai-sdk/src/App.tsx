import "./page.css";
import "@inlay-ui/react/styles.css";
import { useChat } from "@ai-sdk/react";
import { inlayTransport } from "@inlay-ui/ai-sdk";
import { InlayPart } from "@inlay-ui/ai-sdk/react";
import { InlayClient } from "@inlay-ui/client";
import { BlockView, clientCapabilityTokens, InlayProvider } from "@inlay-ui/react";
import type { TextUIPart, UIMessage } from "ai";
import { useEffect, useRef, useState } from "react";
import { newThread, threadOfPage } from "./thread.ts";

const client = new InlayClient();
// What is not declared arrives as text.
const transport = inlayTransport({ blocks: clientCapabilityTokens() });
const { id, known } = threadOfPage();

export const App = () => (
  <InlayProvider client={client}>
    <Chat />
  </InlayProvider>
);

function Chat() {
  const chat = useChat({ id, transport, experimental_throttle: 50 });
  const [text, setText] = useState("");
  const running = chat.status === "submitted" || chat.status === "streaming";
  const catchUp = () => void transport.catchUp(chat).catch(console.error);
  const first = useRef(catchUp);
  // What was said before, and what is being written.
  useEffect(() => {
    if (known) first.current();
  }, []);
  const list = useRef<HTMLElement>(null);
  useEffect(() => stayAtEnd(list.current), []);

  const send = () => {
    if (running || text.trim() === "") return;
    void chat.sendMessage({ text });
    setText("");
  };
  return (
    <div className="page">
      <header className="bar">
        <h1>Inlay with the AI SDK</h1>
        <button type="button" onClick={newThread}>
          New chat
        </button>
      </header>
      <main className="messages" ref={list}>
        <div>
          {chat.messages.map((message) => (
            <article key={message.id} data-role={message.role}>
              {message.parts.map((part, i) => (
                <Part key={i} message={message} part={part} at={i} onMore={catchUp} />
              ))}
            </article>
          ))}
          {chat.error && <p role="alert">{chat.error.message}</p>}
        </div>
      </main>
      <form
        className="composer"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <textarea
          aria-label="Message"
          placeholder="Ask about the sample sales"
          rows={1}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            send();
          }}
        />
        {running ? (
          <button type="button" onClick={() => void transport.stop(id)}>
            Stop
          </button>
        ) : (
          <button type="submit">Send</button>
        )}
      </form>
    </div>
  );
}

/** Keeps the end of a list in view while it grows, unless the reader has left it. Returns the undoing. */
function stayAtEnd(list: HTMLElement | null): (() => void) | undefined {
  const content = list?.firstElementChild;
  if (!list || !content) return;
  let at = true;
  const scrolled = () => {
    at = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  };
  const observer = new ResizeObserver(() => {
    if (at) list.scrollTop = list.scrollHeight;
  });
  list.addEventListener("scroll", scrolled);
  observer.observe(content);
  return () => {
    list.removeEventListener("scroll", scrolled);
    observer.disconnect();
  };
}

function Part({
  message,
  part,
  at,
  onMore,
}: {
  message: UIMessage;
  part: UIMessage["parts"][number];
  at: number;
  onMore: () => void;
}) {
  if (part.type !== "text") return <InlayPart part={part} messageId={message.id} onMore={onMore} />;
  if (message.role === "user") return <p>{part.text}</p>;
  return <Markdown part={part} message={message} at={at} />;
}

/** A text as the blocks around it are drawn; any other renderer of Markdown would do. */
function Markdown({ part, message, at }: { part: TextUIPart; message: UIMessage; at: number }) {
  const status = part.state === "streaming" ? "loading" : "done";
  const block = { id: `${message.id}.${at}`, type: "text", version: 1, rev: 1, status } as const;
  return <BlockView block={{ ...block, payload: part.text }} messageId={message.id} />;
}

// A page that shows an answer of the server with a Markdown component of npm:
// what has come is drawn once per frame, and the end stays in view. The query
// names the component, the function `ask` the question.
import { memo, useLayoutEffect, useRef, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { Streamdown } from "streamdown";

let text = "";
let shown = "";
let asked = false;
const listeners = new Set();

function changed() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    shown = text;
    for (const listener of listeners) listener();
  });
}

const useAnswer = () =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => shown,
  );

const plugins = [remarkGfm];
const components = {
  "react-markdown": ({ children }) => (
    <ReactMarkdown remarkPlugins={plugins}>{children}</ReactMarkdown>
  ),
  streamdown: ({ children }) => <Streamdown>{children}</Streamdown>,
};
const Component = components[new URLSearchParams(location.search).get("with")];

const Answer = memo(function Answer() {
  const answer = useAnswer();
  const view = useRef(null);
  useLayoutEffect(() => {
    view.current.scrollTop = view.current.scrollHeight;
  });
  return (
    <main ref={view} style={{ height: "100vh", overflowY: "auto" }}>
      <article data-role="assistant" style={{ maxWidth: "46rem", margin: "0 auto" }}>
        <Component>{answer}</Component>
      </article>
    </main>
  );
});

/** Asks, and reads the answer's server-sent events to their end. */
window.ask = async (question) => {
  const response = await fetch("/v1/chat", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ input: { text: question } }),
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      if (!/^event: text_delta$/m.test(frame)) continue;
      text += JSON.parse(/^data: (.*)$/m.exec(frame)[1]).data.delta;
      changed();
    }
  }
};

createRoot(document.getElementById("root")).render(<Answer />);

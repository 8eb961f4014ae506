import { CopilotChat, CopilotKitProvider } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { inlayActivityRenderer } from "@inlay-ui/ag-ui/react";
import { clientCapabilityTokens } from "@inlay-ui/react";
import "@inlay-ui/react/styles.css";
import "./page.css";
import { newThread, threadOfPage } from "./thread.ts";

const renderers = [inlayActivityRenderer()];
// What is not declared arrives as text.
const properties = { capabilities: clientCapabilityTokens() };
const thread = threadOfPage();

export const App = () => (
  <CopilotKitProvider
    runtimeUrl="/v1/copilotkit"
    properties={properties}
    renderActivityMessages={renderers}
    enableInspector={false}
  >
    <header className="bar">
      <h1>Inlay with CopilotKit</h1>
      <button type="button" onClick={newThread}>
        New thread
      </button>
    </header>
    <main className="chat">
      <CopilotChat agentId="inlay" threadId={thread.id} />
    </main>
  </CopilotKitProvider>
);

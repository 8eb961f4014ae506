import {
  HttpAgent,
  type HttpAgentConfig,
  runHttpRequest,
  transformHttpEventStream,
} from "@ag-ui/client";

/** What an {@link InlayAgent} takes besides what every agent takes. */
export interface InlayAgentConfig extends Omit<HttpAgentConfig, "url"> {
  /** Where `/v1` is; the page's own origin when absent. */
  endpoint?: string;
  /**
   * What the page can draw, such as `chart@1`: `clientCapabilityTokens()` of
   * `@inlay-ui/react`. Without it blocks arrive as text.
   */
  blocks?: readonly string[];
}

/**
 * An agent of an Inlay server. Besides runs it can come back to its thread,
 * from anywhere and at any time: `connectAgent` gives all that was said and what is being
 * written now, to its end. Leaving a run stops nothing; `stop` does.
 */
export class InlayAgent extends HttpAgent {
  endpoint: string;
  blocks: readonly string[] | undefined;

  constructor({ endpoint = "", blocks, ...config }: InlayAgentConfig = {}) {
    const base = endpoint.replace(/\/+$/, "");
    super({ ...config, url: `${base}/v1/ag-ui` });
    this.endpoint = base;
    this.blocks = blocks;
  }

  /** Stops what is written to the thread, whoever asked for it. Says whether there was something. */
  async stop(): Promise<boolean> {
    const response = await this.fetch(`${this.url}/stop`, {
      method: "POST",
      headers: { ...this.headers, "Content-Type": "application/json" },
      body: JSON.stringify({ threadId: this.threadId }),
    });
    // Nothing was ever said in a thread that the server does not know.
    if (response.status === 404) return false;
    if (!response.ok) throw new Error(`stop: HTTP ${response.status}`);
    return response.status === 202;
  }

  override clone(): InlayAgent {
    const copy = super.clone() as InlayAgent;
    copy.endpoint = this.endpoint;
    copy.blocks = this.blocks;
    return copy;
  }

  protected override requestInit(input: Parameters<HttpAgent["run"]>[0]): RequestInit {
    const init = super.requestInit(input);
    const headers = new Headers(init.headers);
    if (this.blocks) headers.set("X-Blocks", this.blocks.join(","));
    return { ...init, headers: Object.fromEntries(headers) };
  }

  protected override connect(input: Parameters<HttpAgent["run"]>[0]): ReturnType<HttpAgent["run"]> {
    // A run that was left says nothing about this one.
    if (this.abortController.signal.aborted) this.abortController = new AbortController();
    const init = this.requestInit(input);
    return transformHttpEventStream(
      runHttpRequest(() => this.fetch(`${this.url}/connect`, init)),
      this.debugLogger,
    );
  }
}

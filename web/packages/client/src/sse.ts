/** One frame of an event stream. A field that the frame did not have is absent. */
export interface SSEFrame {
  id?: string;
  event?: string;
  /** Several data lines are joined by line feeds. */
  data?: string;
}

/** What {@link readSSE} may be told. */
export interface SSEOptions {
  /** Fail when no byte came for this many milliseconds. */
  idle?: number;
  /** Called for every chunk, comments included. */
  onBytes?: () => void;
}

/**
 * Reads the frames of an event stream, however the network cut it: lines may
 * end in LF, CR or CRLF, a byte order mark is dropped, comments are skipped,
 * and frames with nothing but an id are given too. A frame that the end of the
 * stream cuts off is not.
 */
export async function* readSSE(
  stream: ReadableStream<Uint8Array>,
  options: SSEOptions = {},
): AsyncGenerator<SSEFrame, void, undefined> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let line = "";
  let afterCR = false;
  let frame: SSEFrame = {};
  let used = false;
  let clean = false;
  try {
    for (;;) {
      const { done, value } = await timed(reader.read(), options.idle);
      if (done) {
        clean = true;
        return;
      }
      options.onBytes?.();
      const text = decoder.decode(value, { stream: true });
      let from = 0;
      // Only the new text is searched, so that a long line that comes in many
      // pieces costs its length once.
      for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i);
        if (code !== 10 && code !== 13) {
          afterCR = false;
          continue;
        }
        if (code === 10 && afterCR) {
          afterCR = false;
          from = i + 1;
          continue;
        }
        afterCR = code === 13;
        line += text.slice(from, i);
        from = i + 1;
        if (line !== "") {
          used = field(frame, line) || used;
          line = "";
        } else if (used) {
          const whole = frame;
          frame = {};
          used = false;
          yield whole;
        }
      }
      line += text.slice(from);
    }
  } finally {
    if (!clean) reader.cancel().catch(() => {});
    reader.releaseLock();
  }
}

function field(frame: SSEFrame, line: string): boolean {
  const colon = line.indexOf(":");
  if (colon === 0) return false;
  const name = colon < 0 ? line : line.slice(0, colon);
  let value = colon < 0 ? "" : line.slice(colon + 1);
  if (value.startsWith(" ")) value = value.slice(1);
  if (name === "data") frame.data = frame.data === undefined ? value : `${frame.data}\n${value}`;
  else if (name === "event") frame.event = value;
  else if (name === "id" && !value.includes("\0")) frame.id = value;
  else return false;
  return true;
}

function timed<T>(work: Promise<T>, ms: number | undefined): Promise<T> {
  if (!ms) return work;
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the stream fell silent")), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

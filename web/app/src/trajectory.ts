/** What one tool call was given and what it gave back, as text. */
export interface ToolDetails {
  input: string;
  output: string;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function list(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function text(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}

/** Finds a tool call with its result in a trajectory document (ATIF). */
export function toolDetails(trajectory: unknown, toolCallId: string): ToolDetails | null {
  if (!isRecord(trajectory)) return null;
  let input: unknown;
  let output: unknown;
  let found = false;
  for (const step of list(trajectory.steps)) {
    for (const call of list(step.tool_calls)) {
      if (call.tool_call_id !== toolCallId) continue;
      found = true;
      input = call.arguments;
    }
    if (!isRecord(step.observation)) continue;
    for (const result of list(step.observation.results)) {
      if (result.source_call_id === toolCallId) output = result.content;
    }
  }
  return found ? { input: text(input), output: text(output) } : null;
}

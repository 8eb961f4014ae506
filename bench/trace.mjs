// What the items that read traces of chromium share.

/** The names of the events that are scripts at work. */
export const scripting = new Set([
  "FunctionCall",
  "EvaluateScript",
  "TimerFire",
  "FireAnimationFrame",
  "RunMicrotasks",
  "EventDispatch",
  "MinorGC",
  "MajorGC",
]);

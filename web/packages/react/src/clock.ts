/** The time of day, with the date when it is not today's. */
export function formatTime(lang: string, at: number): string {
  const time = new Date(at);
  const today = time.toDateString() === new Date().toDateString();
  return new Intl.DateTimeFormat(lang, {
    timeStyle: "short",
    dateStyle: today ? undefined : "medium",
  }).format(time);
}

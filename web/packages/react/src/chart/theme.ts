/** The colours and type that a chart is drawn with, read from the page's tokens. */
export interface ChartTheme {
  dark: boolean;
  palette: string[];
  text: string;
  muted: string;
  border: string;
  grid: string;
  surface: string;
  accent: string;
  good: string;
  bad: string;
  warn: string;
  font: string;
}

/** The tokens' values as the style sheet sets them, for places without a style sheet. */
export const chartThemes: Record<"light" | "dark", ChartTheme> = {
  light: {
    dark: false,
    palette: [
      "#2f6f9f",
      "#bd5417",
      "#3a7a47",
      "#8456a8",
      "#8f6400",
      "#b8436a",
      "#1f7a76",
      "#686c73",
    ],
    text: "#23211d",
    muted: "#635e56",
    border: "#e2ded6",
    grid: "#ece8e1",
    surface: "#ffffff",
    accent: "#2b63a8",
    good: "#27713d",
    bad: "#b3372c",
    warn: "#865800",
    font: "system-ui, sans-serif",
  },
  dark: {
    dark: true,
    palette: [
      "#6aa9db",
      "#e5915a",
      "#7bbd87",
      "#b995da",
      "#d3ab4a",
      "#e48aa8",
      "#5fbcb6",
      "#a3a6ac",
    ],
    text: "#ebe7e0",
    muted: "#aaa499",
    border: "#3a3732",
    grid: "#322f2b",
    surface: "#201e1b",
    accent: "#7fb2ec",
    good: "#7cc48c",
    bad: "#f0897e",
    warn: "#dcae57",
    font: "system-ui, sans-serif",
  },
};

/** Reads the tokens in force at an element; what the page leaves out keeps its default. */
export function readTheme(element: Element, dark: boolean): ChartTheme {
  const base = chartThemes[dark ? "dark" : "light"];
  const style = getComputedStyle(element);
  const token = (name: string, fallback: string): string =>
    style.getPropertyValue(`--inlay-${name}`).trim() || fallback;
  return {
    dark,
    palette: base.palette.map((color, i) => token(`chart-${i + 1}`, color)),
    text: token("text", base.text),
    muted: token("muted", base.muted),
    border: token("border", base.border),
    grid: token("chart-grid", base.grid),
    surface: token("surface", base.surface),
    accent: token("accent", base.accent),
    good: token("good", base.good),
    bad: token("bad", base.bad),
    warn: token("warn", base.warn),
    // Double quotes would end the attribute that ECharts writes this into.
    font: (style.fontFamily || base.font).replaceAll('"', "'"),
  };
}

/** The colour that a payload's colour token names; an unknown one gives undefined. */
export function colorToken(theme: ChartTheme, token: string | undefined): string | undefined {
  if (token === undefined) {
    return undefined;
  }
  const number = /^(?:chart[-.])?([1-8])$/.exec(token);
  if (number) {
    return theme.palette[Number(number[1]) - 1];
  }
  switch (token.replace(/^color[-.]/, "")) {
    case "accent":
    case "primary":
      return theme.accent;
    case "good":
    case "success":
      return theme.good;
    case "bad":
    case "danger":
      return theme.bad;
    case "warn":
    case "warning":
      return theme.warn;
    case "muted":
      return theme.muted;
    default:
      return undefined;
  }
}

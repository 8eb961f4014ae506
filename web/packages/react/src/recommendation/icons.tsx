import type { FeatureRecommendationItem } from "@inlay-ui/client";

/** The lines of each icon, in a square of 24. */
const lines: Record<NonNullable<FeatureRecommendationItem["icon"]>, string> = {
  wallet:
    "M4 7.5A2.5 2.5 0 0 1 6.5 5H17v3.5M4 7.5A1.5 1.5 0 0 0 5.5 9H20v10H6a2 2 0 0 1-2-2zM16.5 14h.01",
  deposit: "M12 4v10m-4-4 4 4 4-4M5 15v3a2 2 0 0 0 2 2h10a2 2 0 0 0 2-2v-3",
  swap: "M5 9h13m-3.5-3.5L18 9l-3.5 3.5M19 15H6m3.5 3.5L6 15l3.5-3.5",
  buy: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM12 8v8m-4-4h8",
  sell: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM8 12h8",
  autopilot: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM15.5 8.5l-2 5-5 2 2-5z",
  workflow: "M4 5h6v5H4zM14 14h6v5h-6zM7 10v4.5a2 2 0 0 0 2 2h5",
  chart: "M4 4v14a2 2 0 0 0 2 2h14M8 15l3.5-4 3 2.5L19 8",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5 20 20",
  settings: "M4 7h9m4 0h3M15 5v4M4 12h3m4 0h9M9 10v4M4 17h9m4 0h3M15 15v4",
  alert: "M6 16.5V11a6 6 0 0 1 12 0v5.5l1.5 1.5h-15zM10 20.5h4",
  research:
    "M9.5 4h5M10.5 4v5.5L5.5 18a1.5 1.5 0 0 0 1.3 2h10.4a1.5 1.5 0 0 0 1.3-2l-5-8.5V4M8 14h8",
};

/** A picture beside an item's label; it says nothing that the label does not. */
export function Icon({ name }: { name: keyof typeof lines }) {
  return <Drawing d={lines[name]} className="inlay-next-icon" />;
}

/** The mark of what leads out of the page. */
export function OutsideMark() {
  return <Drawing d="M9 6H6v12h12v-3M13 5h6v6m0-6-9 9" className="inlay-next-outside" />;
}

function Drawing({ d, className }: { d: string; className: string }) {
  return (
    <svg className={className} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={d} />
    </svg>
  );
}

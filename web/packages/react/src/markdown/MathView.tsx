import { memo, useEffect, useRef, useState } from "react";

type Render = (tex: string, element: HTMLElement, display: boolean) => void;

let render: Render | null = null;
let loading: Promise<Render | null> | null = null;

/** Loads the formula renderer's chunk; null when it cannot be had. */
function load(): Promise<Render | null> {
  loading ??= import("katex").then(
    ({ default: katex }) => {
      // MathML needs neither fonts nor style attributes, and is read aloud as it is.
      render = (tex, element, display) =>
        katex.render(tex, element, {
          displayMode: display,
          output: "mathml",
          throwOnError: true,
          trust: false,
          strict: "ignore",
          maxExpand: 500,
          maxSize: 20,
        });
      return render;
    },
    () => {
      loading = null;
      return null;
    },
  );
  return loading;
}

interface MathProps {
  tex: string;
  display: boolean;
  source: string;
}

/** A formula. Its source stands there until it is drawn, and stays when it cannot be. */
export const MathView = memo(function MathView({ tex, display, source }: MathProps) {
  const ref = useRef<HTMLSpanElement>(null);
  const [drawn, setDrawn] = useState(false);
  useEffect(() => {
    let live = true;
    const draw = (use: Render | null): void => {
      const element = ref.current;
      if (!live || !use || !element) {
        return;
      }
      try {
        use(tex, element, display);
        setDrawn(true);
      } catch {
        element.replaceChildren();
        setDrawn(false);
      }
    };
    if (render) {
      draw(render);
    } else {
      void load().then(draw);
    }
    return () => {
      live = false;
    };
  }, [tex, display]);
  return (
    <span className={display ? "inlay-math inlay-math-block" : "inlay-math"}>
      <span ref={ref} />
      {drawn ? null : <code className="inlay-math-source">{source}</code>}
    </span>
  );
});

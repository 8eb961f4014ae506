import { type TextKey, useText } from "../i18n/index.ts";
import { isApple } from "../keyboard.ts";
import { Dialog } from "./Dialog.tsx";

/** The list of keyboard shortcuts. */
export default function KeyboardHelp({ onClose }: { onClose: () => void }) {
  const t = useText();
  const apple = isApple(navigator.platform);
  const mod = apple ? "⌘" : "Ctrl";
  const shift = apple ? "⇧" : "Shift";
  const alt = apple ? "⌥" : "Alt";
  const rows: { text: TextKey; keys: string[][] }[] = [
    { text: "help.send", keys: [["Enter"]] },
    { text: "help.newline", keys: [[shift, "Enter"]] },
    { text: "help.editLast", keys: [["↑"]] },
    { text: "help.stop", keys: [["Esc"]] },
    { text: "help.focus", keys: [["/"]] },
    { text: "help.search", keys: [[mod, "K"]] },
    { text: "help.new", keys: [[mod, shift, "O"]] },
    {
      text: "help.walk",
      keys: [
        [alt, "↑"],
        [alt, "↓"],
      ],
    },
    { text: "help.help", keys: [["?"]] },
  ];
  return (
    <Dialog title={t("help.title")} onClose={onClose}>
      <dl className="page-keys">
        {rows.map((row) => (
          <div key={row.text}>
            <dt>{t(row.text)}</dt>
            <dd>
              {row.keys.map((combination) => (
                <span key={combination.join("+")} className="page-key-combination">
                  {combination.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </span>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

import "./modals.css";
import { Dialog } from "@inlay-ui/react";
import {
  type FormEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { languageTag, useLang } from "../i18n/index.ts";
import {
  type AmountProblem,
  type Asset,
  amountText,
  assets,
  formatAmount,
  mostOf,
} from "./amount.ts";
import { useWords } from "./words.ts";

/** Writes amounts in the page's language. */
export function useAmounts(): (units: number, asset: Asset) => string {
  const tag = languageTag(useLang());
  return (units, asset) => formatAmount(units, asset, tag);
}

/** Words what is wrong with an amount; null when nothing is. What too much is the caller may word. */
export function useAmountError(): (
  problem: number | AmountProblem,
  asset: Asset,
  tooMuch?: string,
) => string | null {
  const words = useWords();
  const amounts = useAmounts();
  return (problem, asset, tooMuch) => {
    switch (problem) {
      case "missing":
        return words("chat.transfer.missing");
      case "malformed":
        return words("chat.transfer.malformed", { example: amountText(asset.least, asset) });
      case "decimals":
        return words("chat.transfer.decimals", { asset: asset.id, n: asset.decimals });
      case "tooLittle":
        return words("chat.transfer.tooLittle", { amount: amounts(asset.least, asset) });
      case "tooMuch":
        return tooMuch ?? words("chat.transfer.tooMuch", { amount: amounts(mostOf(asset), asset) });
      default:
        return null;
    }
  };
}

/** The form of a sample modal: what is wrong shows once it was tried, and the first field with an error gets the focus. */
export function SampleForm({
  title,
  submit,
  sound,
  onDone,
  close,
  children,
}: {
  title: string;
  submit: string;
  /** Every field is filled in as it must be. */
  sound: boolean;
  onDone: () => void;
  close: () => void;
  /** The fields, told whether to show what is wrong. */
  children: (tried: boolean) => ReactNode;
}) {
  const words = useWords();
  const form = useRef<HTMLFormElement>(null);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (tries > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [tries]);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (sound) onDone();
    else setTries((n) => n + 1);
  };
  return (
    <Dialog title={title} onClose={close}>
      <form ref={form} className="page-sample" noValidate onSubmit={send}>
        <p className="page-sample-note">{words("chat.transfer.sample")}</p>
        {children(tries > 0)}
        <div className="inlay-dialog-foot">
          <button type="button" className="inlay-button" onClick={close}>
            {words("chat.transfer.cancel")}
          </button>
          <button type="submit" className="inlay-button" data-style="primary">
            {submit}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** What the control of a {@link Field} needs to belong to its label and its error. */
export interface FieldControl {
  id: string;
  className: string;
  "aria-invalid": boolean;
  "aria-describedby": string | undefined;
}

/** A field with its label, a note, and what is wrong with it. */
export function Field({
  label,
  note,
  error,
  children,
}: {
  label: string;
  note?: ReactNode;
  error?: string | null;
  children: (control: FieldControl) => ReactNode;
}) {
  const id = useId();
  const described = [note && `${id}-note`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className="inlay-field">
      <label className="inlay-label" htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        className: "inlay-input inlay-field-input",
        "aria-invalid": Boolean(error),
        "aria-describedby": described || undefined,
      })}
      {note && (
        <p id={`${id}-note`} className="inlay-field-note">
          {note}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="inlay-field-error">
          {error}
        </p>
      )}
    </div>
  );
}

/** The asset that is moved. */
export function AssetField({ asset, onAsset }: { asset: Asset; onAsset: (asset: Asset) => void }) {
  const words = useWords();
  return (
    <Field label={words("chat.transfer.asset")}>
      {(control) => (
        <select
          {...control}
          value={asset.id}
          onChange={(event) => {
            const chosen = assets.find(({ id }) => id === event.target.value);
            if (chosen) onAsset(chosen);
          }}
        >
          {assets.map(({ id }) => (
            <option key={id}>{id}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** How much is moved. The focus begins here. */
export function AmountField({
  text,
  onText,
  note,
  error,
  children,
}: {
  text: string;
  onText: (text: string) => void;
  note: string;
  error: string | null;
  /** What stands beside the field. */
  children?: ReactNode;
}) {
  const words = useWords();
  return (
    <Field label={words("chat.transfer.amount")} note={note} error={error}>
      {(control) => (
        <div className="page-sample-row">
          <input
            {...control}
            data-initial-focus
            type="text"
            inputMode="decimal"
            autoComplete="off"
            value={text}
            onChange={(event) => onText(event.target.value)}
          />
          {children}
        </div>
      )}
    </Field>
  );
}

/** How it ended, and once more that nothing was moved. */
export function Finished({
  title,
  heading,
  rows,
  close,
}: {
  title: string;
  heading: string;
  rows: readonly (readonly [name: string, value: string])[];
  close: () => void;
}) {
  const words = useWords();
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  // The button that was pressed is gone.
  useLayoutEffect(() => button.current?.focus(), []);
  return (
    <Dialog title={title} onClose={close}>
      <div className="page-sample" data-finished>
        <div id={id} className="page-sample-end">
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <circle cx="12" cy="12" r="9.5" />
            <path d="m8 12.500 2.800 2.800 5.400-6" />
          </svg>
          <p className="page-sample-heading">{heading}</p>
          <p className="inlay-field-note">{words("chat.transfer.nothing")}</p>
        </div>
        <dl className="page-sample-rows">
          {rows.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        <div className="inlay-dialog-foot">
          <button
            ref={button}
            type="button"
            className="inlay-button"
            data-style="primary"
            aria-describedby={id}
            onClick={close}
          >
            {words("chat.transfer.done")}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

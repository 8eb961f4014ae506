import type { ModalProps } from "@inlay-ui/react";
import { useState } from "react";
import { amountText, begin, parseAmount } from "./amount.ts";
import {
  AmountField,
  AssetField,
  Field,
  Finished,
  SampleForm,
  useAmountError,
  useAmounts,
} from "./parts.tsx";
import { useWords } from "./words.ts";

const address = /^[A-Za-z0-9-]{8,64}$/;

/** A sample of taking something out of an account. Nothing is moved. */
export default function Withdraw({ params, close }: ModalProps) {
  const words = useWords();
  const amounts = useAmounts();
  const amountError = useAmountError();
  const [first] = useState(() => begin(params));
  const [asset, setAsset] = useState(first.asset);
  const [text, setText] = useState(first.text);
  const [to, setTo] = useState("");
  const [finished, setFinished] = useState(false);
  const title = words("chat.withdraw.title");
  const most = asset.held - asset.fee;
  const units = parseAmount(text, asset, most);
  const tooMuch = words("chat.withdraw.tooMuch", {
    fee: amounts(asset.fee, asset),
    amount: amounts(most, asset),
  });
  const toError =
    to.trim() === ""
      ? words("chat.withdraw.toMissing")
      : address.test(to.trim())
        ? null
        : words("chat.withdraw.toMalformed");

  if (finished && typeof units === "number") {
    return (
      <Finished
        title={title}
        heading={words("chat.withdraw.finished")}
        rows={[
          [words("chat.transfer.amount"), amounts(units, asset)],
          [words("chat.withdraw.fee"), amounts(asset.fee, asset)],
          [words("chat.withdraw.to"), to.trim()],
          [words("chat.transfer.reference"), "SAMPLE-W-0001"],
        ]}
        close={close}
      />
    );
  }
  return (
    <SampleForm
      title={title}
      submit={words("chat.withdraw.submit")}
      sound={typeof units === "number" && toError === null}
      onDone={() => setFinished(true)}
      close={close}
    >
      {(tried) => (
        <>
          <AssetField asset={asset} onAsset={setAsset} />
          <AmountField
            text={text}
            onText={setText}
            note={words("chat.withdraw.available", { amount: amounts(asset.held, asset) })}
            error={tried ? amountError(units, asset, tooMuch) : null}
          >
            <button
              type="button"
              className="inlay-button"
              onClick={() => setText(amountText(most, asset))}
            >
              {words("chat.withdraw.all")}
            </button>
          </AmountField>
          <Field
            label={words("chat.withdraw.to")}
            note={words("chat.withdraw.toNote")}
            error={tried ? toError : null}
          >
            {(control) => (
              <input
                {...control}
                type="text"
                autoComplete="off"
                autoCapitalize="off"
                spellCheck={false}
                value={to}
                onChange={(event) => setTo(event.target.value)}
              />
            )}
          </Field>
        </>
      )}
    </SampleForm>
  );
}

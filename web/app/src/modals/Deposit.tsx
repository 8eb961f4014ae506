import type { ModalProps } from "@inlay-ui/react";
import { useState } from "react";
import { begin, parseAmount } from "./amount.ts";
import {
  AmountField,
  AssetField,
  Finished,
  SampleForm,
  useAmountError,
  useAmounts,
} from "./parts.tsx";
import { useWords } from "./words.ts";

/** A sample of putting something into an account. Nothing is moved. */
export default function Deposit({ params, close }: ModalProps) {
  const words = useWords();
  const amounts = useAmounts();
  const amountError = useAmountError();
  const [first] = useState(() => begin(params));
  const [asset, setAsset] = useState(first.asset);
  const [text, setText] = useState(first.text);
  const [finished, setFinished] = useState(false);
  const title = words("chat.deposit.title");
  const units = parseAmount(text, asset);

  if (finished && typeof units === "number") {
    return (
      <Finished
        title={title}
        heading={words("chat.deposit.finished")}
        rows={[
          [words("chat.transfer.amount"), amounts(units, asset)],
          [words("chat.deposit.arrives"), words("chat.deposit.when")],
          [words("chat.transfer.reference"), "SAMPLE-D-0001"],
        ]}
        close={close}
      />
    );
  }
  return (
    <SampleForm
      title={title}
      submit={words("chat.deposit.submit")}
      sound={typeof units === "number"}
      onDone={() => setFinished(true)}
      close={close}
    >
      {(tried) => (
        <>
          <AssetField asset={asset} onAsset={setAsset} />
          <AmountField
            text={text}
            onText={setText}
            note={words("chat.transfer.least", { amount: amounts(asset.least, asset) })}
            error={tried ? amountError(units, asset) : null}
          />
        </>
      )}
    </SampleForm>
  );
}

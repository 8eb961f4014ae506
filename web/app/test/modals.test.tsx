import { InlayClient } from "@inlay-ui/client";
import { InlayProvider } from "@inlay-ui/react";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Lang, TextContext, translator } from "../src/i18n/index.ts";
import {
  amountText,
  assets,
  begin,
  formatAmount,
  mostOf,
  parseAmount,
} from "../src/modals/amount.ts";
import Deposit from "../src/modals/Deposit.tsx";
import { samples } from "../src/modals/index.ts";
import Withdraw from "../src/modals/Withdraw.tsx";
import { texts } from "../src/modals/words.ts";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const [usdc, btc, eth] = assets as [(typeof assets)[0], (typeof assets)[0], (typeof assets)[0]];

describe("amounts", () => {
  it.each([
    ["10", 10_00],
    [" 10.5 ", 10_50],
    ["1,250.00", 1_250_00],
    ["1250.", 1_250_00],
    ["10.100", 10_10],
    ["", "missing"],
    ["  ", "missing"],
    ["ten", "malformed"],
    ["-10", "malformed"],
    ["1,25", "malformed"],
    ["1e3", "malformed"],
    ["١٠", "malformed"],
    ["10.123", "decimals"],
    ["9.99", "tooLittle"],
    ["0", "tooLittle"],
    ["10,000,000.01", "tooMuch"],
    ["999999999999", "tooMuch"],
  ])("%j is read as %s", (text, expected) => {
    expect(parseAmount(text, usdc)).toBe(expected);
  });

  it("are exact in every asset up to the most", () => {
    for (const asset of assets) {
      for (const units of [asset.least, asset.held, mostOf(asset), mostOf(asset) - 1]) {
        expect(Number.isSafeInteger(units)).toBe(true);
        expect(parseAmount(amountText(units, asset), asset)).toBe(units);
      }
    }
    expect(amountText(50_000, btc)).toBe("0.0005");
    expect(formatAmount(1_250_00, usdc, "en")).toBe("1,250 USDC");
  });

  it("to begin with are taken from whoever opens a modal as far as they make sense", () => {
    expect(begin({ asset: "btc", amount: "0.01" })).toEqual({ asset: btc, text: "0.01" });
    expect(begin({ asset: "ETH", amount: 2 })).toEqual({ asset: eth, text: "2" });
    for (const odd of [{}, { asset: 7 }, { asset: "DOGE", amount: "much" }, { amount: [1] }]) {
      expect(begin(odd)).toEqual({ asset: usdc, text: "" });
    }
  });
});

describe("words of the modals", () => {
  it("are there in every language, with the same places", () => {
    expect(Object.keys(texts.zh)).toEqual(Object.keys(texts.en));
    const places = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();
    for (const [key, text] of Object.entries(texts.zh)) {
      expect(text.trim()).not.toBe("");
      expect(places(text), key).toEqual(places(texts.en[key as keyof typeof texts.en]));
    }
  });
});

function open(
  Modal: typeof Deposit | typeof Withdraw,
  params: Record<string, unknown> = {},
  lang: Lang = "en",
) {
  const fetch = vi.fn();
  vi.stubGlobal("fetch", fetch);
  vi.stubGlobal("matchMedia", undefined);
  const close = vi.fn();
  render(
    <TextContext value={{ lang, t: translator(lang) }}>
      <InlayProvider client={new InlayClient({ fetch })} lang={lang}>
        <Modal params={params} close={close} />
      </InlayProvider>
    </TextContext>,
  );
  return { close, fetch, user: userEvent.setup() };
}

const field = (name: string) => screen.getByRole<HTMLInputElement>("textbox", { name });
const press = (name: string) => screen.getByRole("button", { name });
const said = (name: string) =>
  (field(name).getAttribute("aria-describedby") ?? "")
    .split(" ")
    .map((id) => document.getElementById(id)?.textContent)
    .join(" ");

describe("the sample deposit", () => {
  it("says that it is one, takes an amount, and ends with nothing moved", async () => {
    const { user, close, fetch } = open(Deposit);
    expect(screen.getByRole("dialog", { name: "Deposit" })).toBeTruthy();
    expect(screen.getByText(/nothing is moved/)).toBeTruthy();
    expect(document.activeElement).toBe(field("Amount"));
    await user.keyboard("25.5{Enter}");
    expect(screen.getByText("25.5 USDC")).toBeTruthy();
    expect(screen.getByText(/Nothing was moved/)).toBeTruthy();
    expect(document.activeElement).toBe(press("Done"));
    expect(close).not.toHaveBeenCalled();
    await user.keyboard("{Enter}");
    expect(close).toHaveBeenCalledTimes(1);
    expect(fetch).not.toHaveBeenCalled();
  });

  it("says what is wrong once it was tried, and no longer when it is mended", async () => {
    const { user } = open(Deposit);
    await user.type(field("Amount"), "5");
    expect(field("Amount").getAttribute("aria-invalid")).toBe("false");
    await user.click(press("Deposit"));
    expect(field("Amount").getAttribute("aria-invalid")).toBe("true");
    expect(said("Amount")).toContain("at least 10 USDC");
    expect(document.activeElement).toBe(field("Amount"));
    await user.selectOptions(screen.getByRole("combobox", { name: "Asset" }), "ETH");
    expect(field("Amount").getAttribute("aria-invalid")).toBe("false");
    await user.clear(field("Amount"));
    expect(said("Amount")).toContain("Enter an amount.");
  });

  it("begins with what it was opened with, in Chinese too", async () => {
    const { user } = open(Deposit, { asset: "BTC", amount: "0.02" }, "zh");
    expect(field("数量").value).toBe("0.02");
    await user.click(press("入金"));
    expect(screen.getByText("0.02 BTC")).toBeTruthy();
    expect(screen.getByText(/没有转移任何资产/)).toBeTruthy();
  });
});

describe("the sample withdrawal", () => {
  it("gives no more than there is, with the fee, and wants an address", async () => {
    const { user, fetch } = open(Withdraw);
    await user.type(field("Amount"), "1250");
    await user.click(press("Withdraw"));
    expect(said("Amount")).toContain("With the fee of 1 USDC it can be at most 1,249 USDC.");
    expect(said("To address")).toContain("Enter an address.");
    await user.click(press("Use all"));
    expect(field("Amount").value).toBe("1249");
    await user.type(field("To address"), "too short");
    expect(said("To address")).toContain("8 to 64");
    await user.clear(field("To address"));
    await user.type(field("To address"), "sample-wallet-01{Enter}");
    expect(screen.getByText("1,249 USDC")).toBeTruthy();
    expect(screen.getByText("sample-wallet-01")).toBeTruthy();
    expect(fetch).not.toHaveBeenCalled();
  });

  it.each(["Cancel", "Close"])("%s closes it", async (name) => {
    const { user, close } = open(Withdraw);
    await user.click(press(name));
    expect(close).toHaveBeenCalledTimes(1);
  });
});

it("the page has a modal for each name that the protocol knows", async () => {
  expect(Object.keys(samples)).toEqual(["deposit", "withdraw"]);
  for (const entry of Object.values(samples)) {
    expect("load" in entry && typeof (await entry.load()).default).toBe("function");
  }
});

import { type Lang, useLang } from "../i18n/index.ts";

const en = {
  "chat.transfer.sample": "A sample: nothing is moved, and nothing you enter leaves this page.",
  "chat.transfer.asset": "Asset",
  "chat.transfer.amount": "Amount",
  "chat.transfer.least": "At least {amount}",
  "chat.transfer.missing": "Enter an amount.",
  "chat.transfer.malformed": "Enter a number, such as {example}.",
  "chat.transfer.decimals": "{asset} has at most {n} decimal places.",
  "chat.transfer.tooLittle": "The amount must be at least {amount}.",
  "chat.transfer.tooMuch": "The amount can be at most {amount}.",
  "chat.transfer.cancel": "Cancel",
  "chat.transfer.done": "Done",
  "chat.transfer.nothing": "This was a sample. Nothing was moved.",
  "chat.transfer.reference": "Reference",
  "chat.deposit.title": "Deposit",
  "chat.deposit.submit": "Deposit",
  "chat.deposit.finished": "Your deposit would be on its way",
  "chat.deposit.arrives": "Would arrive",
  "chat.deposit.when": "within 10 minutes",
  "chat.withdraw.title": "Withdraw",
  "chat.withdraw.available": "{amount} available",
  "chat.withdraw.all": "Use all",
  "chat.withdraw.tooMuch": "With the fee of {fee} it can be at most {amount}.",
  "chat.withdraw.to": "To address",
  "chat.withdraw.toNote": "Anything made up will do, such as sample-wallet-01.",
  "chat.withdraw.toMissing": "Enter an address.",
  "chat.withdraw.toMalformed": "An address has 8 to 64 letters, digits and hyphens.",
  "chat.withdraw.fee": "Fee",
  "chat.withdraw.submit": "Withdraw",
  "chat.withdraw.finished": "Your withdrawal would be on its way",
} as const;

/** A key of the sample modals' words. */
export type ModalKey = keyof typeof en;

const zh: Record<ModalKey, string> = {
  "chat.transfer.sample": "此为示例：不会转移任何资产，你填写的内容也不会离开本页。",
  "chat.transfer.asset": "币种",
  "chat.transfer.amount": "数量",
  "chat.transfer.least": "最少 {amount}",
  "chat.transfer.missing": "请输入数量。",
  "chat.transfer.malformed": "请输入数字，例如 {example}。",
  "chat.transfer.decimals": "{asset} 最多保留 {n} 位小数。",
  "chat.transfer.tooLittle": "数量不能少于 {amount}。",
  "chat.transfer.tooMuch": "数量不能超过 {amount}。",
  "chat.transfer.cancel": "取消",
  "chat.transfer.done": "完成",
  "chat.transfer.nothing": "以上为示例，没有转移任何资产。",
  "chat.transfer.reference": "编号",
  "chat.deposit.title": "入金",
  "chat.deposit.submit": "入金",
  "chat.deposit.finished": "若是真实操作，入金已在处理中",
  "chat.deposit.arrives": "预计到账",
  "chat.deposit.when": "10 分钟内",
  "chat.withdraw.title": "提现",
  "chat.withdraw.available": "可用 {amount}",
  "chat.withdraw.all": "全部",
  "chat.withdraw.tooMuch": "扣除手续费 {fee} 后，最多可提 {amount}。",
  "chat.withdraw.to": "收款地址",
  "chat.withdraw.toNote": "随意填写即可，例如 sample-wallet-01。",
  "chat.withdraw.toMissing": "请输入收款地址。",
  "chat.withdraw.toMalformed": "地址由 8 到 64 个字母、数字或连字符组成。",
  "chat.withdraw.fee": "手续费",
  "chat.withdraw.submit": "提现",
  "chat.withdraw.finished": "若是真实操作，提现已在处理中",
};

/** The sample modals' words by language; they load with the modals. */
export const texts: Record<Lang, Record<ModalKey, string>> = { en, zh };

/** Words a key of the sample modals. */
export type Words = (key: ModalKey, vars?: Record<string, string | number>) => string;

/** Returns the sample modals' words in the page's language. */
export function useWords(): Words {
  const lang = useLang();
  return (key, vars = {}) =>
    texts[lang][key].replace(/\{(\w+)\}/g, (place, name: string) => String(vars[name] ?? place));
}

import { formsEn } from "../i18n/forms.en.ts";
import { formsZh } from "../i18n/forms.zh.ts";
import { addWords } from "../i18n/index.ts";

/** Makes the words of forms and questions known; called by every module that is loaded for one. */
export function loadFormWords(): void {
  addWords("en", formsEn);
  addWords("zh", formsZh);
}

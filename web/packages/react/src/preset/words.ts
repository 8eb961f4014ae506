import { addWords } from "../i18n/index.ts";
import { presetsEn } from "../i18n/presets.en.ts";
import { presetsZh } from "../i18n/presets.zh.ts";

/** Makes the words of the preset cards known. */
export function loadPresetWords(): void {
  addWords("en", presetsEn);
  addWords("zh", presetsZh);
}

import { addWords } from "../i18n/index.ts";
import { recommendationEn } from "../i18n/recommendation.en.ts";
import { recommendationZh } from "../i18n/recommendation.zh.ts";

/** Makes the words of recommendations known. */
export function loadRecommendationWords(): void {
  addWords("en", recommendationEn);
  addWords("zh", recommendationZh);
}

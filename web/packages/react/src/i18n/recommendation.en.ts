/** English words of recommendations. */
export const recommendationEn: Record<string, string> = {
  "chat.recommendation.label": "Next step",
  "chat.recommendation.outside": "Opens {host} in a new tab",
  "chat.recommendation.off.route": "That page is not available here.",
  "chat.recommendation.off.slash": "That command is not available here.",
  "chat.recommendation.off.modal": "That cannot be opened here.",
};

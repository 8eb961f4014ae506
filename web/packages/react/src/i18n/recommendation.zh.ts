/** Chinese words of recommendations. */
export const recommendationZh: Record<string, string> = {
  "chat.recommendation.label": "下一步",
  "chat.recommendation.outside": "在新标签页中打开 {host}",
  "chat.recommendation.off.route": "这里没有该页面。",
  "chat.recommendation.off.slash": "这里无法使用该命令。",
  "chat.recommendation.off.modal": "这里无法打开。",
};

import { actionsZh } from "./actions.zh.ts";
import { blocksZh } from "./blocks.zh.ts";
import { mediaZh } from "./media.zh.ts";

/** The Chinese words; the same keys as in English. */
export const zh: Record<string, string> = {
  ...blocksZh,
  ...mediaZh,
  ...actionsZh,
  "chat.block.loading": "正在加载{title}",
  "chat.block.loadingUntitled": "正在加载",
  "chat.block.asOf": "截至 {time}",
  "chat.block.source": "来源：{source}",
  "chat.block.inPart": "仅显示部分内容：此页面只支持该类内容的旧版本。",
  "chat.block.unknown": "此页面无法显示这类内容。",
  "chat.block.invalid": "此内容未通过检查，以文本形式显示。",
  "chat.block.crashed": "此内容无法绘制。",
  "chat.block.refreshFailed": "未能刷新：{reason}",
  "chat.block.truncated": "仅显示部分数据。",
  "chat.block.tryAgain": "重试",
  "chat.block.confirm": "确定要继续吗？",
  "chat.block.cancel": "取消",
  "chat.block.busy": "处理中…",
  "chat.menu.open": "{title}的更多操作",
  "chat.menu.openUntitled": "更多操作",
  "chat.menu.refresh": "刷新",
  "chat.error.DATA_FETCH_FAILED": "数据加载失败。",
  "chat.error.TOOL_TIMEOUT": "数据加载超时。",
  "chat.error.TOOL_PANIC": "加载数据时出现问题。",
  "chat.error.SCHEMA_INVALID": "数据格式不符合要求。",
  "chat.error.PAYLOAD_TOO_LARGE": "数据过大，无法显示。",
  "chat.error.HYDRATE_TIMEOUT": "数据未能按时到达。",
  "chat.error.CANCELLED": "在完成之前已停止。",
  "chat.error.INTERRUPTED": "在完成之前被中断。",
  "chat.error.NOT_FOUND": "数据不存在。",
  "chat.error.NOT_AUTHORIZED": "你无权查看此数据。",
  "chat.error.network": "无法连接服务器。",
  "chat.error.other": "出现问题（{code}）。",
};

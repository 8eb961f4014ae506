import type { Lang } from "../i18n/index.ts";

const en = {
  title: "Block gallery",
  intro:
    "Every block type in every state. Nothing here comes from a server: actions are answered in this page, and what would be sent is shown under the block.",
  loading: "Loading…",
  options: "Options",
  type: "Type",
  allTypes: "All types",
  language: "Language",
  theme: "Theme",
  "theme.light": "Light",
  "theme.dark": "Dark",
  "theme.system": "System",
  width: "Width",
  "width.360": "360 px",
  "width.720": "720 px",
  "width.full": "Full",
  outcome: "Actions",
  "outcome.done": "succeed",
  "outcome.confirm": "ask first",
  "outcome.failed": "fail",
  "outcome.unknown": "end unknown",
  "outcome.taken": "were taken elsewhere",
  "outcome.forbidden": "are forbidden",
  onlyCase: "Only “{name}” is shown.",
  showAll: "Show all cases",
  link: "Link to “{name}”",
  none: "There is no such case.",
  messages: "Messages",
  frames: "Frame of every block",
  sent: "Would be sent",
  wentTo: "The page would now show {where}",
  wrote: "The message field would now hold {text}, unsent",
} as const;

/** A key of the gallery's own words. */
export type GalleryKey = keyof typeof en;

const zh: Record<GalleryKey, string> = {
  title: "组件库",
  intro:
    "每种块类型的每种状态。这里的数据都不来自服务器：操作在本页内应答，将要发送的内容显示在块的下方。",
  loading: "正在加载…",
  options: "选项",
  type: "类型",
  allTypes: "全部类型",
  language: "语言",
  theme: "主题",
  "theme.light": "浅色",
  "theme.dark": "深色",
  "theme.system": "跟随系统",
  width: "宽度",
  "width.360": "360 像素",
  "width.720": "720 像素",
  "width.full": "全宽",
  outcome: "操作结果",
  "outcome.done": "成功",
  "outcome.confirm": "先确认",
  "outcome.failed": "失败",
  "outcome.unknown": "结果未知",
  "outcome.taken": "已在别处提交",
  "outcome.forbidden": "无权限",
  onlyCase: "仅显示“{name}”。",
  showAll: "显示全部",
  link: "“{name}”的链接",
  none: "没有这个示例。",
  messages: "消息",
  frames: "所有块的外框",
  sent: "将发送",
  wentTo: "页面将转到 {where}",
  wrote: "{text} 将填入消息输入框，但不会发送",
};

/** The gallery's own words, by language. They are no part of the chat page. */
export const texts: Record<Lang, Record<GalleryKey, string>> = { en, zh };

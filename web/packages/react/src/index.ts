/** React hooks, block frame and renderers for Inlay. */

export type { ActionIds } from "./acting.ts";
export {
  ActionButton,
  type BlockActions,
  type Standing,
  StateLine,
  useBlockActions,
} from "./actions.tsx";
export { allowedUrl } from "./allow.ts";
export { isAnswering } from "./answering.ts";
export { BlockView, UnknownBlockCard } from "./BlockView.tsx";
export { builtinRenderers } from "./blocks/index.ts";
export { clientCapabilityTokens, defaultRegistry, registerBlock } from "./builtins.ts";
export {
  type Allow,
  type BlockHost,
  type BlockStore,
  type Inlay,
  InlayContext,
  type Navigation,
  type Prompt,
  type RunOptions,
  type Theme,
  useInlay,
  useT,
} from "./context.ts";
export { Dialog } from "./Dialog.tsx";
export { ErrorBoundary } from "./ErrorBoundary.tsx";
export { ForeignBlock, type ForeignBlockProps, type ForeignOptions } from "./ForeignBlock.tsx";
export { ForeignMessage, type More } from "./foreign.ts";
export { clearDrafts } from "./form/draft.ts";
export {
  errorText,
  registerLanguage,
  type Translate,
  translator,
  type Words,
} from "./i18n/index.ts";
export { MessageView } from "./MessageView.tsx";
export { useBlockMenu } from "./menu.tsx";
export { type ModalEntry, type ModalProps, registerModal } from "./modals.ts";
export { type ActionOutcome, failureText, stateOf, succeeded } from "./outcome.ts";
export { InlayProvider, type InlayProviderProps, type Overrides } from "./provider.tsx";
export {
  type BlockProps,
  BlockRegistry,
  defineRenderer,
  type Found,
  type MenuItem,
  type RendererEntry,
  type RendererSpec,
} from "./registry.ts";
export { Skeleton } from "./Skeleton.tsx";
export {
  type ChatActions,
  type ChatOptions,
  type ChatState,
  ChatStore,
  type SendOptions,
} from "./store.ts";
export { type Chat, useChat } from "./useChat.ts";

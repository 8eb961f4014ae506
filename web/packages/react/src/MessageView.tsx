import type { Message } from "@inlay-ui/client";
import { memo } from "react";
import { BlockView } from "./BlockView.tsx";

/** The blocks of a message in their order. A user's text is shown as it was typed. */
export const MessageView = memo(function MessageView({ message }: { message: Message }) {
  return (
    <div className="inlay-message" data-role={message.role} data-message-id={message.id}>
      {message.blocks.map((block) =>
        message.role === "user" && typeof block.payload === "string" ? (
          <div key={block.id} className="inlay-typed" dir="auto">
            {block.payload}
          </div>
        ) : (
          <BlockView key={block.id} block={block} messageId={message.id} />
        ),
      )}
    </div>
  );
});

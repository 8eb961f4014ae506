// Runs in a copy of the repository in which the guide was followed.
import { cleanup, screen } from "@testing-library/react";
import { afterEach, describe, expect, test } from "vitest";
import { BlockView, clientCapabilityTokens } from "../src/index.ts";
import { block, show } from "./help.tsx";
import "./ticket.tsx";

afterEach(cleanup);

describe("the guide", () => {
  test("the handshake has both types", () => {
    expect(clientCapabilityTokens()).toEqual(
      expect.arrayContaining(["rating@1", "acme.ticket@1", "chart@1"]),
    );
  });

  test.each([
    ["en", "4 of 5 stars", "Ticket T-1: Sample"],
    ["zh", "4 星（满分 5 星）", "工单 T-1：Sample"],
  ])("both are drawn, %s", async (lang, stars, ticket) => {
    show(
      <>
        <BlockView
          block={block({ type: "rating", payload: { subject: "Sample Watch", stars: 4 } })}
          messageId="m_1"
        />
        <BlockView
          block={block({ type: "acme.ticket", payload: { number: "T-1", subject: "Sample" } })}
          messageId="m_1"
        />
      </>,
      { lang },
    );
    expect(await screen.findByText(stars)).toBeTruthy();
    expect(await screen.findByText(ticket)).toBeTruthy();
  });

  test.each([
    ["rating", { subject: "Sample Watch", stars: 6 }],
    ["acme.ticket", { number: 1, subject: "Sample" }],
  ])("a wrong payload of %s is shown as its fallback", async (type, payload) => {
    show(<BlockView block={block({ type, payload })} messageId="m_1" />);
    expect(await screen.findByText("as text")).toBeTruthy();
  });
});

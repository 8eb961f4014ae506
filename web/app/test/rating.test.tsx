import type { Feedback, Rating as Thumb } from "@inlay-ui/client";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import { commentLimit, RatingComment, Thumbs, useRating } from "../src/components/Rating.tsx";
import { TextContext, translator } from "../src/i18n/index.ts";

afterEach(cleanup);

type Send = (rating: Thumb | null, comment?: string) => Promise<void>;

function Rated({
  given,
  send,
  said,
  done,
}: {
  given?: Feedback;
  send: Send;
  said(text: string): void;
  done(): void;
}) {
  const state = useRating(given, send, said);
  return (
    <>
      <Thumbs state={state} />
      <RatingComment state={state} onDone={done} />
    </>
  );
}

function show(given?: Feedback, send: Send = async () => {}) {
  const sent = vi.fn(send);
  const said = vi.fn();
  const done = vi.fn();
  render(
    <TextContext value={{ lang: "en", t: translator("en") }}>
      <Rated given={given} send={sent} said={said} done={done} />
    </TextContext>,
  );
  return { sent, said, done };
}

const up = () => screen.getByRole("button", { name: "Good answer" });
const down = () => screen.getByRole("button", { name: "Poor answer" });
const pressed = () => [up(), down()].map((e) => e.getAttribute("aria-pressed"));

describe("the rating of an answer", () => {
  it("is sent at once, and a comment after it", async () => {
    const { sent, said, done } = show();
    await userEvent.click(down());
    expect(pressed()).toEqual(["false", "true"]);
    expect(sent).toHaveBeenLastCalledWith("down", undefined);
    await waitFor(() => expect(said).toHaveBeenCalledWith(expect.stringContaining("poor answer")));
    const field = screen.getByLabelText("What was wrong with it? (optional)");
    expect(field).toHaveProperty("maxLength", commentLimit);
    await userEvent.type(field, "Too{Shift>}{Enter}{/Shift}short{Enter}");
    expect(sent).toHaveBeenLastCalledWith("down", "Too\nshort");
    await screen.findByText("Thank you. Your comment was saved.");
    expect(done).toHaveBeenCalledTimes(1);
    expect(screen.queryByRole("textbox")).toBeNull();
  });

  it("is taken back by the same thumb, and changed by the other", async () => {
    const { sent } = show({ rating: "up" });
    expect(pressed()).toEqual(["true", "false"]);
    await userEvent.click(down());
    expect(pressed()).toEqual(["false", "true"]);
    await userEvent.click(down());
    expect(pressed()).toEqual(["false", "false"]);
    expect(sent.mock.calls.at(-1)).toEqual([null, undefined]);
    expect(screen.queryByRole("textbox")).toBeNull();
  });

  it("shows the comment that there is, and lets it be emptied", async () => {
    const { sent } = show({ rating: "up", comment: "Fine" });
    await userEvent.click(down());
    const field = screen.getByRole("textbox");
    expect(field).toHaveProperty("value", "Fine");
    await userEvent.clear(field);
    await userEvent.click(screen.getByRole("button", { name: "Send" }));
    expect(sent.mock.calls.at(-1)).toEqual(["down", undefined]);
  });

  it("sends no empty comment, and Escape closes the field", async () => {
    const { sent, done } = show();
    await userEvent.click(up());
    await userEvent.type(screen.getByRole("textbox"), "  {Enter}");
    expect(sent).toHaveBeenCalledTimes(1);
    await userEvent.click(up());
    await userEvent.click(up());
    await userEvent.type(screen.getByRole("textbox"), "x{Escape}");
    expect(screen.queryByRole("textbox")).toBeNull();
    expect(pressed()).toEqual(["true", "false"]);
    expect(done).toHaveBeenCalledTimes(2);
  });

  it("does not send while an input method composes", async () => {
    const { sent } = show();
    await userEvent.click(up());
    const field = screen.getByRole("textbox");
    fireEvent.change(field, { target: { value: "很好" } });
    fireEvent.keyDown(field, { key: "Enter", isComposing: true });
    expect(sent).toHaveBeenCalledTimes(1);
  });

  it("is put back when the server refuses it, and says so", async () => {
    const { said } = show({ rating: "up" }, async () => {
      throw new Error("no");
    });
    await userEvent.click(down());
    await screen.findByText("Your rating could not be saved.");
    expect(pressed()).toEqual(["true", "false"]);
    expect(said).toHaveBeenCalledWith("Your rating could not be saved.");
  });

  it("follows the last press when answers come late", async () => {
    const refuse: (() => void)[] = [];
    show(undefined, (rating) =>
      rating === "up" ? new Promise((_, reject) => refuse.push(() => reject())) : Promise.resolve(),
    );
    await userEvent.click(up());
    await userEvent.click(down());
    for (const late of refuse) late();
    await waitFor(() => expect(pressed()).toEqual(["false", "true"]));
    expect(screen.queryByText("Your rating could not be saved.")).toBeNull();
  });
});

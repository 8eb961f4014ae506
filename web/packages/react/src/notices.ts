import type { ReactNode } from "react";

/** Something told to the reader. */
export interface Notice {
  id: number;
  tone: "good" | "bad";
  text: string;
  /** It can be seen elsewhere and is read out only. */
  heard?: boolean;
  /** Does again what failed. */
  retry?: () => void;
}

/** Something the reader is asked before an action is done. */
export interface Question {
  title: string;
  text: string;
  danger: boolean;
  answer(yes: boolean): void;
}

/** Something larger that the reader deals with before an action is done. */
export interface Panel {
  /** A dialog. */
  content: ReactNode;
  /** Takes it away undone. */
  close(): void;
}

/** What a page shows of its actions: news, and the question and the panel that wait. */
export interface NoticesState {
  notices: readonly Notice[];
  question: Question | null;
  panel: Panel | null;
}

/** The most news shown at a time. */
const MOST = 3;

/** Tells the reader what came of actions, and asks before some. */
export class Notices {
  #state: NoticesState = { notices: [], question: null, panel: null };
  readonly #waiting: Question[] = [];
  readonly #listeners = new Set<() => void>();
  #ids = 0;
  #panels: Promise<unknown> = Promise.resolve();

  readonly getState = (): NoticesState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Shows news until they are dismissed. */
  say(notice: Omit<Notice, "id">): void {
    const others = this.#state.notices.filter((n) => n.text !== notice.text);
    this.#set({ notices: [...others, { ...notice, id: ++this.#ids }].slice(-MOST) });
  }

  dismiss(id: number): void {
    this.#set({ notices: this.#state.notices.filter((n) => n.id !== id) });
  }

  /** Asks; one question after the other. */
  ask(question: Omit<Question, "answer">): Promise<boolean> {
    return new Promise((resolve) => {
      const own: Question = {
        ...question,
        answer: (yes) => {
          if (this.#state.question !== own) return;
          this.#set({ question: this.#waiting.shift() ?? null });
          resolve(yes);
        },
      };
      if (this.#state.question) this.#waiting.push(own);
      else this.#set({ question: own });
    });
  }

  /** Shows a panel until it calls `end`; one after the other. `undone` is what closing it comes to. */
  show<T>(undone: T, draw: (end: (value: T) => void) => ReactNode): Promise<T> {
    const shown = this.#panels.then(
      () =>
        new Promise<T>((resolve) => {
          const end = (value: T) => {
            this.#set({ panel: null });
            resolve(value);
          };
          this.#set({ panel: { content: draw(end), close: () => end(undone) } });
        }),
    );
    this.#panels = shown;
    return shown;
  }

  #set(change: Partial<NoticesState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

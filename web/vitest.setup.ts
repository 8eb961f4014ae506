import { configure } from "@testing-library/react";

// What is waited for may come late on a busy machine.
configure({ asyncUtilTimeout: 20_000 });

// jsdom has dialogs, but not their methods.
if (typeof HTMLDialogElement === "function") {
  HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) {
    this.open = true;
  };
  HTMLDialogElement.prototype.close ??= function (this: HTMLDialogElement) {
    this.open = false;
  };
}

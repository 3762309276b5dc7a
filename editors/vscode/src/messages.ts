/** Messages of the server: a notification, and an output channel with room for the whole text. */

import * as vscode from "vscode";
import { MessageType, type ShowMessageParams } from "vscode-languageclient/node";

/** A notification is one wrapped line, and VS Code cuts it at a thousand characters. */
const ROOM = 300;

/** A text with more lines, such as a plot or a matrix, is unreadable as one line. */
const LINES = 3;

/** The longest time, in milliseconds, until a message appears in the output channel. */
const SOON = 5000;

const RESULTS = "Iverson Results";

/** The setting of the limit that ended the evaluation in the message. */
const LIMIT = /, the limit that `(iverson\.[a-z.]+)` sets$/u;

export class Messages implements vscode.Disposable {
  private readonly output = vscode.window.createOutputChannel(RESULTS, "iverson-text");
  private follows: vscode.Disposable | undefined;

  tell({ type, message }: ShowMessageParams): void {
    const limit = LIMIT.exec(message)?.[1];
    // The next message scrolls to its end, or to its own beginning.
    this.follows?.dispose();
    this.output.appendLine(message);
    const { text, whole } = fitting(message);
    const long = message.length > ROOM || message.trim().split("\n").length > LINES;
    if (long) {
      this.show(message);
      // An error also gets a notification.
      if (type !== MessageType.Error && type !== MessageType.Warning) {
        return;
      }
    }
    const all = "Show All";
    const settings = "Open Settings";
    // VS Code shows all lines of a notification that has a button.
    const choices = limit !== undefined ? [settings] : whole || long ? [] : [all];
    const shown =
      type === MessageType.Error
        ? vscode.window.showErrorMessage(text, ...choices)
        : type === MessageType.Warning
          ? vscode.window.showWarningMessage(text, ...choices)
          : vscode.window.showInformationMessage(text, ...choices);
    void shown.then((choice) => {
      if (choice === all) {
        this.show(message);
      } else if (choice === settings) {
        void vscode.commands.executeCommand("workbench.action.openSettings", limit);
      }
    });
  }

  dispose(): void {
    this.follows?.dispose();
    this.output.dispose();
  }

  /** Opens the output below at the start of the message, because VS Code shows its end. */
  private show(message: string): void {
    this.follows?.dispose();
    const reveal = (): void => {
      for (const editor of vscode.window.visibleTextEditors) {
        const { document } = editor;
        if (document.uri.scheme !== "output" || !document.fileName.includes(RESULTS)) {
          continue;
        }
        const text = document.getText().replace(/\r\n/gu, "\n");
        const begins = text.lastIndexOf(message);
        if (begins >= 0) {
          const line = text.slice(0, begins).split("\n").length - 1;
          editor.revealRange(new vscode.Range(line, 0, line, 0), vscode.TextEditorRevealType.AtTop);
        }
      }
    };
    const parts = [
      vscode.workspace.onDidChangeTextDocument(({ document }) => (document.uri.scheme === "output" ? reveal() : undefined)),
      vscode.window.onDidChangeVisibleTextEditors(reveal),
    ];
    const soon = setTimeout(() => follows.dispose(), SOON);
    const follows = vscode.Disposable.from(...parts, new vscode.Disposable(() => clearTimeout(soon)));
    this.follows = follows;
    this.output.show(true);
    reveal();
  }
}

/** Joins lines: indented lines, such as rows of a value, follow directly, others as sentences. */
function joined(message: string): string {
  const one = message.replace(/(.?)[ \t]*\n(\s*)/gu, (_, last: string, indent: string) =>
    indent !== "" || /[,([{=]/u.test(last) ? `${last} ` : `${last} · `,
  );
  return one.replace(/\s+/gu, " ");
}

/** Cuts a message to the size of a notification. */
function fitting(message: string): { text: string; whole: boolean } {
  if (message.length <= ROOM && !message.trim().includes("\n")) {
    return { text: message, whole: true };
  }
  const line = joined(message.trim());
  // The cut never splits a character.
  const beginning = [...line.slice(0, ROOM)].slice(0, -1).join("");
  return { text: line.length <= ROOM ? line : `${beginning}…`, whole: false };
}

/** What the server tells the user: in a notification, and in an output, which has room for all of it. */

import * as vscode from "vscode";
import { MessageType, type ShowMessageParams } from "vscode-languageclient/node";

/** A notification is one line that wraps, and VS Code leaves out what is beyond a thousand characters. */
const ROOM = 300;

export class Messages implements vscode.Disposable {
  private readonly output = vscode.window.createOutputChannel("Iverson Results", "iverson");

  tell({ type, message }: ShowMessageParams): void {
    this.output.appendLine(message);
    const { text, whole } = fitting(message);
    const choices = whole ? [] : ["Show All"];
    const shown =
      type === MessageType.Error
        ? vscode.window.showErrorMessage(text, ...choices)
        : type === MessageType.Warning
          ? vscode.window.showWarningMessage(text, ...choices)
          : vscode.window.showInformationMessage(text, ...choices);
    void shown.then((choice) => (choice ? this.output.show(true) : undefined));
  }

  dispose(): void {
    this.output.dispose();
  }
}

/** Lines as one: what goes on with the line before, as the rows of a value do, follows it, and sentences are kept apart. */
function joined(message: string): string {
  const one = message.replace(/(.?)[ \t]*\n(\s*)/gu, (_, last: string, indent: string) =>
    indent !== "" || /[,([{=]/u.test(last) ? `${last} ` : `${last} · `,
  );
  return one.replace(/\s+/gu, " ");
}

/** What of a message a notification has room for. */
function fitting(message: string): { text: string; whole: boolean } {
  if (message.length <= ROOM && !message.trim().includes("\n")) {
    return { text: message, whole: true };
  }
  const line = joined(message.trim());
  // No character is cut in two.
  const beginning = [...line.slice(0, ROOM)].slice(0, -1).join("");
  return { text: line.length <= ROOM ? line : `${beginning}…`, whole: false };
}

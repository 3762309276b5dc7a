/** What the server evaluates, and in sight a way to stop it: an item of the status bar, a button above the program. */

import * as vscode from "vscode";

/** What ends sooner, in milliseconds, shows nothing. */
const SOON = 300;

/** The commands of the server that evaluate; they are answered when that has ended. */
const EVALUATES = new Set(["iverson.run", "iverson.evaluate"]);

export class Running implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("iverson.running", vscode.StatusBarAlignment.Left);
  /** How many are in sight: one that takes the place of another begins before that has ended. */
  private count = 0;

  constructor() {
    this.item.name = "Iverson: Stop Evaluation";
    this.item.text = "$(debug-stop) Stop Iverson";
    this.item.tooltip = "A program is running. Click to stop it.";
    this.item.command = "iverson.stopRun";
  }

  /** Waits for a command of the server; while it evaluates it can be stopped. */
  async during<T>(command: string, answered: Promise<T>): Promise<T> {
    if (!EVALUATES.has(command)) {
      return answered;
    }
    let shown = false;
    const soon = setTimeout(() => {
      shown = true;
      this.show(1);
    }, SOON);
    try {
      return await answered;
    } finally {
      clearTimeout(soon);
      if (shown) {
        this.show(-1);
      }
    }
  }

  dispose(): void {
    this.item.dispose();
  }

  private show(more: 1 | -1): void {
    this.count += more;
    if (this.count > 0) {
      this.item.show();
    } else {
      this.item.hide();
    }
    void vscode.commands.executeCommand("setContext", "iverson.running", this.count > 0);
  }
}

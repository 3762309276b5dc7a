/** Running evaluations, and two ways to stop them: a status bar item and a button in the editor. */

import * as vscode from "vscode";

/** Evaluations that end sooner than this, in milliseconds, show nothing. */
const SOON = 300;

/** The commands that evaluate; their answer arrives at the end of the evaluation. */
const EVALUATES = new Set(["iverson.run", "iverson.evaluate"]);

export class Running implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("iverson.running", vscode.StatusBarAlignment.Left);
  /** The number of visible items: an evaluation may start before its predecessor has ended. */
  private count = 0;

  constructor() {
    this.item.name = "Iverson: Stop Evaluation";
    this.item.text = "$(debug-stop) Stop Iverson";
    this.item.tooltip = "A program is running. Click to stop it.";
    this.item.command = "iverson.stopRun";
  }

  /** Waits for a command of the server; the user can stop it while it evaluates. */
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

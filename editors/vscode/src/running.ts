/** What the server evaluates, and in sight a way to stop it: an item of the status bar, a button above the program. */

import * as vscode from "vscode";

/** What ends sooner, in milliseconds, shows nothing. */
const SOON = 300;

/** So many characters of what runs are its name. */
const NAME = 40;

/** The commands of the server that evaluate, with what names it; they are answered when that has ended. */
const EVALUATES = new Map<string, (args: unknown[]) => string>([
  ["iverson.run", ([, def]) => String(def || "the file")],
  ["iverson.evaluate", ([source, line]) => asked(String(source), Number(line))],
]);

export class Running implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("iverson.running", vscode.StatusBarAlignment.Left);
  /** How many are in sight: one that takes the place of another begins before that has ended. */
  private count = 0;
  /** The names of what runs, the first since longest. */
  private readonly names: { name: string }[] = [];

  constructor() {
    this.item.name = "Iverson: Stop What Runs";
    this.item.text = "$(debug-stop) Stop Iverson";
    this.item.tooltip = "A program runs. Click to stop it.";
    this.item.command = "iverson.stopRun";
  }

  /** The name of what runs, if something does: what takes its place begins before that has ended. */
  get name(): string | undefined {
    return this.names[0]?.name;
  }

  /** Waits for a command of the server; while it evaluates it can be stopped. */
  async during<T>(command: string, args: unknown[], answered: Promise<T>): Promise<T> {
    const named = EVALUATES.get(command);
    if (named === undefined) {
      return answered;
    }
    const own = { name: shortened(named(args)) };
    this.names.push(own);
    let shown = false;
    const soon = setTimeout(() => {
      shown = true;
      this.show(1);
    }, SOON);
    try {
      return await answered;
    } finally {
      clearTimeout(soon);
      this.names.splice(this.names.indexOf(own), 1);
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

/** The expression of a comment `-- >>> expr`. */
function asked(source: string, line: number): string {
  const uri = vscode.Uri.parse(source).toString();
  const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === uri);
  const text = document !== undefined && line < document.lineCount ? document.lineAt(line).text : "";
  return /--\s*>>>\s*(.*\S)/u.exec(text)?.[1] ?? `line ${line + 1}`;
}

/** No character is cut in two. */
function shortened(name: string): string {
  const characters = [...name];
  return characters.length <= NAME ? name : `${characters.slice(0, NAME - 1).join("")}…`;
}

/** The lenses of programs. */

import * as vscode from "vscode";
import type { CodeLensMiddleware } from "vscode-languageclient/node";

/** Runs the command of a lens. */
type Run = (command: string, args: unknown[]) => Thenable<unknown> | undefined;

/**
 * Gives each lens a command of its own, without arguments. VS Code drops arguments when it requests
 * lenses again, but briefly shows the old ones. A click on one would report a missing command.
 */
export class Lenses implements vscode.Disposable {
  private readonly known = new Map<string, { id: string; registered: vscode.Disposable }>();

  constructor(private readonly run: Run) {}

  readonly middleware: CodeLensMiddleware = {
    provideCodeLenses: async (document, token, next) => (await next(document, token))?.map((lens) => this.own(lens)),
    resolveCodeLens: async (lens, token, next) => {
      const resolved = await next(lens, token);
      return resolved && this.own(resolved);
    },
  };

  dispose(): void {
    this.known.forEach(({ registered }) => registered.dispose());
    this.known.clear();
  }

  private own(lens: vscode.CodeLens): vscode.CodeLens {
    const { command } = lens;
    if (command !== undefined && command.arguments !== undefined && command.arguments.length > 0) {
      lens.command = { title: command.title, command: this.id(command.command, command.arguments) };
    }
    return lens;
  }

  /** Returns the same name for the same command, however often VS Code requests it. */
  private id(command: string, args: unknown[]): string {
    const key = JSON.stringify([command, args]);
    let known = this.known.get(key);
    if (known === undefined) {
      const id = `iverson.lens.${this.known.size}`;
      known = { id, registered: vscode.commands.registerCommand(id, () => this.run(command, args)) };
      this.known.set(key, known);
    }
    return known.id;
  }
}

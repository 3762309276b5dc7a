/** The entry points by which VS Code starts and stops the extension. */

import * as vscode from "vscode";

import { Client } from "./client";
import { registerCommands } from "./commands";
import { Links } from "./links";
import { Views } from "./views";

let client: Client | undefined;

export function activate(context: vscode.ExtensionContext): void {
  client = new Client();
  const own = client;
  const views = new Views(own);
  context.subscriptions.push(
    own,
    views,
    new Links(views),
    registerCommands(own, views),
    vscode.workspace.onDidChangeConfiguration(() => own.reconsider()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => (own.running ? undefined : own.restart())),
  );
  // Commands and views register at once, and wait for the server themselves.
  void own.restart();
}

export function deactivate(): Promise<void> | undefined {
  return client?.stop();
}

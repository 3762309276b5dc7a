/** Where VS Code begins and ends the extension. */

import * as vscode from "vscode";

import { Client } from "./client";
import { registerCommands } from "./commands";
import { Links } from "./links";
import { Views } from "./views";

let client: Client | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  client = new Client();
  const own = client;
  const views = new Views(own);
  context.subscriptions.push(
    own,
    views,
    new Links(views),
    registerCommands(own, views),
    vscode.workspace.onDidChangeConfiguration((event) =>
      event.affectsConfiguration("iverson.server.path") ? own.restart() : undefined,
    ),
    vscode.workspace.onDidGrantWorkspaceTrust(() => (own.running ? undefined : own.restart())),
  );
  await own.restart();
}

export function deactivate(): Promise<void> | undefined {
  return client?.stop();
}

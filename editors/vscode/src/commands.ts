/** The commands of the palette, the menus and the lenses. */

import * as vscode from "vscode";

import type { Client } from "./client";
import type { Stage } from "./protocol";
import { buildServer } from "./server";
import { SCHEME, subjectOf, type Views } from "./views";

export function registerCommands(client: Client, views: Views): vscode.Disposable {
  const stages: [string, Stage][] = [
    ["iverson.showAdjoint", "adjoint"],
    ["iverson.showForward", "forward"],
    ["iverson.showSsa", "ssa"],
    ["iverson.showCore", "core"],
    ["iverson.showCost", "cost"],
  ];
  return vscode.Disposable.from(
    ...stages.map(([command, stage]) =>
      vscode.commands.registerCommand(command, async () => {
        const here = current();
        if (here !== undefined) {
          await views.show({ source: here.source, def: here.def, stage });
        }
      }),
    ),
    vscode.commands.registerCommand("iverson.showView", (uri: string, def: string, stage: string) =>
      views.show({ source: vscode.Uri.parse(uri), def, stage }),
    ),
    vscode.commands.registerCommand("iverson.revealSource", async (view: string) => {
      const subject = subjectOf(vscode.Uri.parse(view));
      if (subject !== undefined) {
        await reveal(subject.source, subject.def);
      }
    }),
    vscode.commands.registerCommand("iverson.runDefinition", async () => {
      const here = subject();
      // Outside definitions, for example in a `do`, it runs the file.
      const source = here?.source ?? vscode.window.activeTextEditor?.document.uri;
      if (source !== undefined) {
        await client.execute("iverson.run", [source.toString(), here?.def ?? ""]);
      }
    }),
    vscode.commands.registerCommand("iverson.runFile", async () => {
      const document = vscode.window.activeTextEditor?.document;
      if (document?.languageId === "iverson") {
        await client.execute("iverson.run", [document.uri.toString(), ""]);
      }
    }),
    vscode.commands.registerCommand("iverson.evaluateLine", async () => {
      const editor = vscode.window.activeTextEditor;
      if (editor !== undefined) {
        await client.execute("iverson.evaluate", [editor.document.uri.toString(), editor.selection.active.line]);
      }
    }),
    vscode.commands.registerCommand("iverson.stopRun", () => client.execute("iverson.stop", [])),
    vscode.commands.registerCommand("iverson.restartServer", () => client.restart()),
    vscode.commands.registerCommand("iverson.showOutput", () => client.showOutput()),
    vscode.commands.registerCommand("iverson.buildServer", async () => {
      if (await buildServer()) {
        await client.restart();
      }
    }),
  );
}

/** The definition at the cursor: that of the view, or the enclosing item. */
function subject(): { source: vscode.Uri; def: string } | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme === SCHEME) {
    return subjectOf(editor.document.uri);
  }
  const def = editor && definitionAt(editor.document, editor.selection.active.line);
  return editor === undefined || def === undefined ? undefined : { source: editor.document.uri, def };
}

/** Returns the same, or reports that there is none. */
function current(): { source: vscode.Uri; def: string } | undefined {
  const here = subject();
  if (here === undefined) {
    void vscode.window.showInformationMessage("Iverson: the cursor is not in a definition.");
  }
  return here;
}

const ITEM = /^(?:\s*(?:def|type|import|do)(?![\p{L}\p{N}_'])|let(?![\p{L}\p{N}_'])|\s*(?:derivative|adjoint)\s+[\p{L}_])/u;
const DEFINITION = /^\s*(?:def|derivative|adjoint)\s+([\p{L}_][\p{L}\p{N}\p{M}_']*)\s*\(/u;

/** An item starts at a word in the first column; documentation belongs to the item below it. */
function definitionAt(document: vscode.TextDocument, at: number): string | undefined {
  let line = at;
  while (line + 1 < document.lineCount && document.lineAt(line).text.trimStart().startsWith("--|")) {
    line++;
  }
  for (; line >= 0; line--) {
    const { text } = document.lineAt(line);
    const name = DEFINITION.exec(text)?.[1];
    if (name !== undefined || ITEM.test(text)) {
      return name;
    }
  }
  return undefined;
}

async function reveal(source: vscode.Uri, def: string): Promise<void> {
  const document = await vscode.workspace.openTextDocument(source);
  const column = vscode.window.visibleTextEditors.find((e) => e.document === document)?.viewColumn;
  const editor = await vscode.window.showTextDocument(document, column ?? vscode.ViewColumn.One);
  for (let line = 0; line < document.lineCount; line++) {
    const { text, range } = document.lineAt(line);
    if (DEFINITION.exec(text)?.[1] === def && text.trimStart().startsWith("def")) {
      editor.selection = new vscode.Selection(range.start, range.start);
      editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
      return;
    }
  }
}

/** Derived forms of definitions as read-only documents that follow the program. */

import * as vscode from "vscode";
import type { LanguageClient, Range } from "vscode-languageclient/node";

import type { Client } from "./client";
import { type View, viewRequest, viewsChanged } from "./protocol";

export const SCHEME = "iverson-view";

/** What a view shows. */
export interface Subject {
  source: vscode.Uri;
  def: string;
  stage: string;
}

/** `iverson-view:/<def>.<stage>.iv?<source>` */
export function viewUri({ source, def, stage }: Subject): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${def}.${stage}.iv`, query: source.toString() });
}

export function subjectOf(uri: vscode.Uri): Subject | undefined {
  const match = /^\/(.+)\.([a-z]+)\.iv$/u.exec(uri.path);
  const [, def, stage] = match ?? [];
  if (uri.scheme !== SCHEME || def === undefined || stage === undefined) {
    return undefined;
  }
  return { source: vscode.Uri.parse(uri.query), def, stage };
}

interface Shown {
  text: string;
  language: string;
  /** What to say above it. */
  note: string | undefined;
  /** Is it what was told in place of a view? */
  failed?: boolean;
  lines: ReadonlyMap<number, vscode.Range[]>;
}

export class Views implements vscode.TextDocumentContentProvider, vscode.CodeLensProvider, vscode.Disposable {
  private readonly shown = new Map<string, Shown>();
  private readonly stale = new vscode.EventEmitter<vscode.Uri>();
  private readonly fresh = new vscode.EventEmitter<vscode.Uri>();
  private readonly lenses = new vscode.EventEmitter<void>();
  private readonly parts: vscode.Disposable[];

  readonly onDidChange = this.stale.event;
  readonly onDidChangeCodeLenses = this.lenses.event;
  /** Told when the text of a view, or what it comes from, is another. */
  readonly onDidRefresh = this.fresh.event;

  constructor(private readonly client: Client) {
    this.parts = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.languages.registerCodeLensProvider({ scheme: SCHEME }, this),
      client.onStarted((started) => this.listen(started)),
      vscode.workspace.onDidCloseTextDocument((document) => this.shown.delete(document.uri.toString())),
      this.stale,
      this.fresh,
      this.lenses,
    ];
  }

  /** Opens a view beside the program; the program keeps the cursor. */
  async show(subject: Subject): Promise<void> {
    const uri = viewUri(subject);
    if (this.shown.has(uri.toString())) {
      this.stale.fire(uri);
    }
    const document = await vscode.workspace.openTextDocument(uri);
    const column = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.scheme === SCHEME)?.viewColumn;
    await vscode.window.showTextDocument(document, {
      viewColumn: column ?? vscode.ViewColumn.Beside,
      preserveFocus: true,
      preview: true,
    });
    await this.colour(document);
  }

  /** What the line of a view comes from. */
  origins(view: vscode.Uri, line: number): vscode.Range[] {
    return this.shown.get(view.toString())?.lines.get(line) ?? [];
  }

  /** The lines of a view that have origins. */
  lines(view: vscode.Uri): Iterable<[number, vscode.Range[]]> {
    return this.shown.get(view.toString())?.lines ?? [];
  }

  async provideTextDocumentContent(uri: vscode.Uri, token: vscode.CancellationToken): Promise<string> {
    const key = uri.toString();
    const subject = subjectOf(uri);
    const client = this.client.running;
    const before = this.shown.get(key);
    if (subject === undefined) {
      return "-- This is no view of a definition.\n";
    }
    if (client === undefined) {
      return before?.text ?? "-- The language server is not running.\n";
    }
    const { source, def, stage } = subject;
    try {
      const asked = { uri: client.code2ProtocolConverter.asUri(source), def, stage };
      const view = await client.sendRequest(viewRequest, asked, token);
      this.shown.set(key, await read(client, view));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      // While the program is broken the view stays as it was, and says so; nothing jumps.
      const last = before?.failed === true ? undefined : before;
      const text = last?.text ?? `-- ${message.replace(/\n/gu, "\n-- ")}\n`;
      const note = last === undefined ? undefined : `as it was before an edit: ${message}`;
      const failed = last === undefined;
      this.shown.set(key, { text, language: last?.language ?? "iverson", note, failed, lines: new Map() });
    }
    // The document has its new text only after this has returned.
    setTimeout(() => {
      this.fresh.fire(uri);
      this.lenses.fire();
      const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === key);
      void (document && this.colour(document));
    }, 0);
    return this.shown.get(key)?.text ?? "";
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const subject = subjectOf(document.uri);
    if (subject === undefined) {
      return [];
    }
    const top = new vscode.Range(0, 0, 0, 0);
    const file = vscode.workspace.asRelativePath(subject.source);
    const about = `${titles[subject.stage] ?? subject.stage} of ${subject.def}, ${file}`;
    const lenses = [
      new vscode.CodeLens(top, { title: about, command: "iverson.revealSource", arguments: [document.uri.toString()] }),
    ];
    const note = this.shown.get(document.uri.toString())?.note;
    if (note !== undefined) {
      lenses.push(new vscode.CodeLens(top, { title: note, command: "" }));
    }
    return lenses;
  }

  dispose(): void {
    this.parts.forEach((part) => part.dispose());
  }

  private listen(client: LanguageClient): void {
    client.onNotification(viewsChanged, ({ uri }) => {
      const source = client.protocol2CodeConverter.asUri(uri).toString();
      this.refresh((subject) => subject.source.toString() === source);
    });
    // What was asked of the server before is asked again.
    this.refresh(() => true);
  }

  private refresh(concerned: (subject: Subject) => boolean): void {
    for (const { uri } of vscode.workspace.textDocuments) {
      const subject = subjectOf(uri);
      if (subject !== undefined && concerned(subject)) {
        this.stale.fire(uri);
      }
    }
  }

  private async colour(document: vscode.TextDocument): Promise<void> {
    const language = this.shown.get(document.uri.toString())?.language;
    if (language !== undefined && language !== document.languageId && !document.isClosed) {
      await vscode.languages.setTextDocumentLanguage(document, language);
    }
  }
}

const titles: Record<string, string> = {
  adjoint: "Adjoint",
  forward: "Forward derivative",
  ssa: "Tensor SSA",
  core: "Core",
  cost: "Cost",
};

async function read(client: LanguageClient, view: View): Promise<Shown> {
  const convert = (range: Range): vscode.Range => client.protocol2CodeConverter.asRange(range);
  const lines = new Map(view.lines.map(({ line, origins }) => [line, origins.map(convert)]));
  return { text: view.text, language: view.language, note: view.note, lines };
}

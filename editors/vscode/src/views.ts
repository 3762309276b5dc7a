/** Derived forms of definitions as read-only documents that follow the program. */

import * as vscode from "vscode";
import type { LanguageClient, Range } from "vscode-languageclient/node";

import type { Client } from "./client";
import { type View, viewRequest, viewsChanged } from "./protocol";

export const SCHEME = "iverson-view";

/** The content of a view. */
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
  /** The note above the text. */
  note: string | undefined;
  /** Whether the text is an error message in place of a view. */
  failed?: boolean;
  lines: ReadonlyMap<number, vscode.Range[]>;
}

/** Read-only files, because VS Code restores only such documents after a window reload. */
export class Views implements vscode.FileSystemProvider, vscode.CodeLensProvider, vscode.Disposable {
  /** The views that follow their programs. */
  private readonly shown = new Map<string, Shown>();
  /** The number of requests for each view. */
  private readonly asked = new Map<string, number>();
  /** The time distinguishes versions of a text. */
  private time = Date.now();
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  private readonly fresh = new vscode.EventEmitter<vscode.Uri>();
  private readonly lenses = new vscode.EventEmitter<void>();
  private readonly parts: vscode.Disposable[];

  readonly onDidChangeFile = this.changed.event;
  readonly onDidChangeCodeLenses = this.lenses.event;
  /** Fires when the text of a view, or its origin, changes. */
  readonly onDidRefresh = this.fresh.event;

  constructor(private readonly client: Client) {
    this.parts = [
      vscode.workspace.registerFileSystemProvider(SCHEME, this, { isCaseSensitive: true, isReadonly: true }),
      vscode.languages.registerCodeLensProvider({ scheme: SCHEME }, this),
      client.onStarted((started) => this.listen(started)),
      vscode.workspace.onDidOpenTextDocument((document) => this.opened(document)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.told(document)),
      vscode.workspace.onDidCloseTextDocument((document) => this.shown.delete(document.uri.toString())),
      this.changed,
      this.fresh,
      this.lenses,
    ];
  }

  /** Opens a view beside the program; the cursor stays in the program. */
  async show(subject: Subject): Promise<void> {
    const uri = viewUri(subject);
    if (this.shown.has(uri.toString())) {
      void this.refresh(uri);
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

  /** Returns the origin of a line of a view. */
  origins(view: vscode.Uri, line: number): vscode.Range[] {
    return this.shown.get(view.toString())?.lines.get(line) ?? [];
  }

  /** Returns the lines of a view that have origins. */
  lines(view: vscode.Uri): Iterable<[number, vscode.Range[]]> {
    return this.shown.get(view.toString())?.lines ?? [];
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const size = (await this.readFile(uri)).length;
    return { type: vscode.FileType.File, ctime: 0, mtime: this.time, size, permissions: vscode.FilePermission.Readonly };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const { text } = this.shown.get(uri.toString()) ?? (await this.ask(uri));
    return new TextEncoder().encode(text);
  }

  /** Does nothing, because all open views get their changes. */
  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  readDirectory(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  createDirectory(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  writeFile(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  delete(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  rename(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  /** Requests a view from the server, once it has started. */
  private async ask(uri: vscode.Uri): Promise<Shown> {
    const key = uri.toString();
    const turn = (this.asked.get(key) ?? 0) + 1;
    this.asked.set(key, turn);
    const answer = await this.answer(uri);
    // A later request has a newer answer.
    if (this.asked.get(key) === turn || !this.shown.has(key)) {
      this.shown.set(key, answer);
    }
    return this.shown.get(key) ?? answer;
  }

  private async answer(uri: vscode.Uri): Promise<Shown> {
    const subject = subjectOf(uri);
    const client = await this.client.settled();
    const before = this.shown.get(uri.toString());
    const instead = (text: string): Shown => ({ text, language: "iverson", note: undefined, failed: true, lines: new Map() });
    if (subject === undefined) {
      return instead("-- This is not a view of a definition.\n");
    }
    if (client === undefined) {
      return before ?? instead("-- The language server is not running.\n");
    }
    const { source, def, stage } = subject;
    try {
      // The server knows only open programs; the user may not have visited the tab of this one.
      await vscode.workspace.openTextDocument(source);
      const asked = { uri: client.code2ProtocolConverter.asUri(source), def, stage };
      const shown = read(client, await client.sendRequest(viewRequest, asked));
      // The text of a cost is prose, not code.
      return stage === "cost" ? { ...shown, language: "iverson-text" } : shown;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      // If the program has errors, the view keeps its text and reports that; nothing jumps.
      return before === undefined || before.failed === true
        ? instead(`-- ${message.replace(/\n/gu, "\n-- ")}\n`)
        : { ...before, note: `outdated: ${message}`, lines: new Map() };
    }
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
      this.refreshAll((subject) => subject.source.toString() === source);
    });
    // A restarted server must answer all requests again.
    this.refreshAll(() => true);
  }

  private refreshAll(concerned: (subject: Subject) => boolean): void {
    for (const key of [...this.shown.keys()]) {
      const uri = vscode.Uri.parse(key);
      const subject = subjectOf(uri);
      if (opened(uri) === undefined) {
        // The document requests its text when it opens.
        this.shown.delete(key);
      } else if (subject !== undefined && concerned(subject)) {
        void this.refresh(uri);
      }
    }
  }

  /** Refreshes an open view. */
  private async refresh(uri: vscode.Uri): Promise<void> {
    const { text } = await this.ask(uri);
    const document = opened(uri);
    if (document === undefined) {
      return;
    }
    if (document.getText() === text) {
      this.told(document);
    } else {
      this.time++;
      this.changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    }
  }

  /** The text may have changed between read and open. */
  private opened(document: vscode.TextDocument): void {
    if (document.uri.scheme === SCHEME) {
      void this.refresh(document.uri);
    }
  }

  /** Reports that a view has its text. */
  private told(document: vscode.TextDocument): void {
    if (document.uri.scheme === SCHEME) {
      this.fresh.fire(document.uri);
      this.lenses.fire();
      void this.colour(document);
    }
  }

  private async colour(document: vscode.TextDocument): Promise<void> {
    const language = this.shown.get(document.uri.toString())?.language;
    if (language !== undefined && language !== document.languageId && !document.isClosed) {
      await vscode.languages.setTextDocumentLanguage(document, language);
    }
  }
}

function opened(uri: vscode.Uri): vscode.TextDocument | undefined {
  const key = uri.toString();
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === key);
}

const titles: Record<string, string> = {
  adjoint: "Adjoint",
  forward: "Forward derivative",
  ssa: "Tensor SSA",
  core: "Core",
  cost: "Cost",
};

function read(client: LanguageClient, view: View): Shown {
  const convert = (range: Range): vscode.Range => client.protocol2CodeConverter.asRange(range);
  const lines = new Map(view.lines.map(({ line, origins }) => [line, origins.map(convert)]));
  return { text: view.text, language: view.language, note: view.note, lines };
}

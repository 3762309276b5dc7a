/** Highlights the origin of a view's selection in the program, and vice versa. */

import * as vscode from "vscode";

import { SCHEME, subjectOf, type Views } from "./views";

export class Links implements vscode.Disposable {
  private readonly mark = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor("iverson.origin"),
    overviewRulerColor: new vscode.ThemeColor("iverson.origin"),
  });
  private readonly line = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("iverson.origin"),
    overviewRulerColor: new vscode.ThemeColor("iverson.origin"),
  });
  private readonly parts: vscode.Disposable[];

  constructor(private readonly views: Views) {
    this.parts = [
      this.mark,
      this.line,
      vscode.window.onDidChangeTextEditorSelection((event) => this.follow(event.textEditor, event.kind !== undefined)),
      vscode.window.onDidChangeActiveTextEditor((editor) => (editor ? this.follow(editor, false) : undefined)),
      vscode.window.onDidChangeVisibleTextEditors(() => this.again()),
      views.onDidRefresh(() => this.again()),
    ];
  }

  dispose(): void {
    this.parts.forEach((part) => part.dispose());
  }

  private again(): void {
    const editor = vscode.window.activeTextEditor;
    if (editor !== undefined) {
      this.follow(editor, false);
    }
  }

  /** `moved`: the user has just selected something, so the linked lines scroll into view. */
  private follow(editor: vscode.TextEditor, moved: boolean): void {
    if (editor.document.uri.scheme === SCHEME) {
      this.toSource(editor, moved);
    } else if (editor.document.languageId === "iverson") {
      this.toViews(editor, moved);
    }
  }

  private toSource(editor: vscode.TextEditor, moved: boolean): void {
    editor.setDecorations(this.line, []);
    const source = subjectOf(editor.document.uri)?.source.toString();
    const origins: vscode.Range[] = [];
    for (const selection of editor.selections) {
      for (let line = selection.start.line; line <= selection.end.line; line++) {
        origins.push(...this.views.origins(editor.document.uri, line));
      }
    }
    for (const other of vscode.window.visibleTextEditors) {
      if (other.document.uri.toString() === source) {
        other.setDecorations(this.mark, origins);
        bringIntoSight(other, origins, moved);
      }
    }
  }

  private toViews(editor: vscode.TextEditor, moved: boolean): void {
    const source = editor.document.uri.toString();
    for (const same of vscode.window.visibleTextEditors.filter((e) => e.document.uri.toString() === source)) {
      same.setDecorations(this.mark, []);
    }
    for (const other of vscode.window.visibleTextEditors) {
      if (subjectOf(other.document.uri)?.source.toString() !== source) {
        continue;
      }
      const lines = [...this.views.lines(other.document.uri)]
        .filter(([, origins]) => origins.some((origin) => editor.selections.some((s) => s.intersection(origin))))
        .map(([line]) => new vscode.Range(line, 0, line, 0));
      other.setDecorations(this.line, lines);
      bringIntoSight(other, lines, moved);
    }
  }
}

function bringIntoSight(editor: vscode.TextEditor, ranges: vscode.Range[], moved: boolean): void {
  const [first] = ranges;
  const seen = (range: vscode.Range): boolean => editor.visibleRanges.some((visible) => visible.intersection(range));
  if (moved && first !== undefined && !ranges.some(seen)) {
    editor.revealRange(first, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }
}

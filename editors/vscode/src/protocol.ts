/** The messages of server and extension beyond the language server protocol. */

import { NotificationType, type Range, RequestType } from "vscode-languageclient/node";

/** The forms of a definition that views can show. */
export type Stage = "adjoint" | "forward" | "ssa" | "core" | "lifted" | "pairs" | "pushed" | "cost";

export interface ViewParams {
  uri: string;
  def: string;
  stage: string;
}

export interface View {
  text: string;
  language: "iverson" | "iverson-form";
  note?: string;
  /** The origins in the program of lines of the text. */
  lines: { line: number; origins: Range[] }[];
}

export const viewRequest = new RequestType<ViewParams, View, void>("iverson/view");

/** The views of a document may have changed. */
export const viewsChanged = new NotificationType<{ uri: string }>("iverson/viewsChanged");

/** What server and extension say to each other beyond the language server protocol. */

import { NotificationType, type Range, RequestType } from "vscode-languageclient/node";

/** The forms that a definition can be seen in. */
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
  /** For lines of the text, what they come from in the program. */
  lines: { line: number; origins: Range[] }[];
}

export const viewRequest = new RequestType<ViewParams, View, void>("iverson/view");

/** The views of a document may be others now. */
export const viewsChanged = new NotificationType<{ uri: string }>("iverson/viewsChanged");

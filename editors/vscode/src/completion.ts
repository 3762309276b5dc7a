/** Completion while the user types. */

import * as vscode from "vscode";
import type { CompletionMiddleware } from "vscode-languageclient/node";

/** After the name of an argument, `wrt: `, its possible values are offered at once. */
export const completion: CompletionMiddleware = {
  provideCompletionItem: async (document, position, context, token, next) => {
    const found = await next(document, position, context, token);
    for (const item of Array.isArray(found) ? found : (found?.items ?? [])) {
      const text = item.insertText instanceof vscode.SnippetString ? item.insertText.value : item.insertText;
      if (item.command === undefined && text?.endsWith(": ")) {
        item.command = { title: "Suggest", command: "editor.action.triggerSuggest" };
      }
    }
    return found;
  },
};

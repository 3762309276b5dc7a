/** Finds the language server, and offers to build it if it is missing. */

import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";

const NAME = process.platform === "win32" ? "iverson-lsp.exe" : "iverson-lsp";

const PATH_SETTING = "iverson.server.path";

/** A server, or a message for the user who needs one. */
export type Search = { found: string; from: string } | { missing: string };

/** Returns the value of the setting. */
export function setting(): string {
  return vscode.workspace.getConfiguration("iverson").get<string>("server.path", "").trim();
}

/** Searches the setting, the `PATH`, cargo's folder, and the workspace's builds, in this order. */
export function findServer(): Search {
  const set = setting();
  if (set !== "") {
    const wanted = absolute(set);
    return isProgram(wanted)
      ? { found: wanted, from: "the setting iverson.server.path" }
      : { missing: `The setting iverson.server.path points to ${wanted}, but no program exists there.` };
  }
  for (const folder of (process.env["PATH"] ?? "").split(path.delimiter).filter((entry) => path.isAbsolute(entry))) {
    const candidate = path.join(folder, NAME);
    if (isProgram(candidate)) {
      return { found: candidate, from: "PATH" };
    }
  }
  const home = process.env["CARGO_HOME"] ?? path.join(os.homedir(), ".cargo");
  const installed = path.join(home, "bin", NAME);
  if (isProgram(installed)) {
    return { found: installed, from: "cargo's folder" };
  }
  // A program in a workspace runs only if the user trusts the workspace.
  if (vscode.workspace.isTrusted) {
    for (const folder of folders()) {
      for (const profile of ["release", "debug"]) {
        const candidate = path.join(folder, "target", profile, NAME);
        if (isProgram(candidate)) {
          return { found: candidate, from: `the ${profile} build of the workspace` };
        }
      }
    }
  }
  return {
    missing:
      `The language server ${NAME} is not on the PATH. ` +
      (project() === undefined
        ? "Build it with `cargo install --locked --path lang-lsp` in a checkout of Iverson, or set iverson.server.path. In a remote window, this setting is in the machine settings."
        : "It can be built from this workspace."),
  };
}

/** Reports that the server is missing and suggests a fix. Returns true if it may exist now. */
export async function offerServer(message: string): Promise<boolean> {
  const build = "Build It";
  const settings = "Open Settings";
  const choices = project() === undefined ? [settings] : [build, settings];
  const choice = await vscode.window.showWarningMessage(`Iverson: ${message}`, ...choices);
  if (choice === build) {
    return buildServer();
  }
  if (choice === settings) {
    // In a remote window, only the settings of the machine hold its path.
    const [page, query] =
      vscode.env.remoteName === undefined ? ["openSettings", PATH_SETTING] : ["openRemoteSettings", { query: PATH_SETTING }];
    await vscode.commands.executeCommand(`workbench.action.${page}`, query);
  }
  return false;
}

/** Builds the workspace's server and its evaluator `iverson`. Returns true if both succeed. */
export async function buildServer(): Promise<boolean> {
  const folder = project();
  if (folder === undefined) {
    void vscode.window.showErrorMessage("Iverson: no workspace folder contains lang-lsp/Cargo.toml.");
    return false;
  }
  // The evaluator is a separate program.
  return (await install(folder, "lang-lsp")) && (await install(folder, "lang-repl"));
}

/** Builds a package in a terminal. Returns true if the build succeeds. */
async function install(folder: string, part: string): Promise<boolean> {
  const command = new vscode.ShellExecution("cargo", ["install", "--locked", "--path", part], { cwd: folder });
  const task = new vscode.Task({ type: "iverson", part }, vscode.TaskScope.Workspace, `build ${part}`, "Iverson", command);
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always };
  const execution = await vscode.tasks.executeTask(task);
  return new Promise((resolve) => {
    const ended = vscode.tasks.onDidEndTaskProcess((event) => {
      if (event.execution === execution) {
        ended.dispose();
        resolve(event.exitCode === 0);
      }
    });
  });
}

/** The folder of the workspace that is a checkout of the language. */
function project(): string | undefined {
  return folders().find((folder) => fs.existsSync(path.join(folder, "lang-lsp", "Cargo.toml")));
}

function folders(): string[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((f) => f.uri.scheme === "file").map((f) => f.uri.fsPath);
}

function absolute(text: string): string {
  const home = text.startsWith("~/") ? path.join(os.homedir(), text.slice(2)) : text;
  return path.resolve(folders()[0] ?? os.homedir(), home);
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The language client: starts and stops the server, and shows its state. */

import * as vscode from "vscode";
import {
  ExecuteCommandRequest,
  type Executable,
  LanguageClient,
  type LanguageClientOptions,
  ShowMessageNotification,
  State,
} from "vscode-languageclient/node";

import { completion } from "./completion";
import { Lenses } from "./lenses";
import { Messages } from "./messages";
import { Running } from "./running";
import { findServer, offerServer, setting } from "./server";

const SELECTOR = [
  { language: "iverson", scheme: "file" },
  { language: "iverson", scheme: "untitled" },
];

export class Client implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private readonly output = vscode.window.createOutputChannel("Iverson", { log: true });
  private readonly status = vscode.languages.createLanguageStatusItem("iverson.server", { language: "iverson" });
  private readonly files = vscode.workspace.createFileSystemWatcher("**/*.iv");
  private readonly started = new vscode.EventEmitter<LanguageClient>();
  private readonly evaluations = new Running();
  private readonly messages = new Messages();
  private readonly lenses = new Lenses((command, args) =>
    command === "iverson.showView" ? vscode.commands.executeCommand(command, ...args) : this.execute(command, args),
  );
  /** Starts and stops run one after the other, however fast the requests come. */
  private turn: Promise<void> = Promise.resolve();

  /** The value of the setting at the last search for a server. */
  private looked = "";

  /** Fires after each answer of the server. */
  readonly onStarted = this.started.event;

  constructor() {
    this.status.name = "Iverson";
    this.status.command = { command: "iverson.showOutput", title: "Output" };
  }

  /** The client, if the server runs. */
  get running(): LanguageClient | undefined {
    return this.client?.state === State.Running ? this.client : undefined;
  }

  /** The client after a pending start; undefined if no server runs then. */
  async settled(): Promise<LanguageClient | undefined> {
    await this.turn;
    return this.running;
  }

  /** Makes the server run one of its commands, and reports if it cannot. */
  async execute(command: string, args: unknown[]): Promise<void> {
    const running = await this.settled();
    if (running === undefined) {
      void vscode.window.showWarningMessage("Iverson: the language server is not running.");
      return;
    }
    try {
      const answered = running.sendRequest(ExecuteCommandRequest.type, { command, arguments: args });
      await this.evaluations.during(command, answered);
    } catch (error) {
      void vscode.window.showErrorMessage(`Iverson: ${text(error)}`);
    }
  }

  /**
   * Follows the setting if it differs from the last search, because VS Code reports no settings
   * that arrive late. A running server stays if there is no other one.
   */
  reconsider(): Promise<void> {
    return this.then(async () => {
      if (setting() === this.looked) {
        return;
      }
      const search = findServer();
      if (this.running !== undefined && "missing" in search) {
        this.looked = setting();
        this.output.warn(`${search.missing} The running server stays active.`);
        return;
      }
      await this.stopNow();
      await this.startNow();
    });
  }

  /** Starts the server, after stopping the running one. */
  restart(): Promise<void> {
    return this.then(async () => {
      await this.stopNow();
      await this.startNow();
    });
  }

  stop(): Promise<void> {
    return this.then(() => this.stopNow());
  }

  private then(next: () => Promise<void>): Promise<void> {
    // Logs the failure of a turn, because the next turn must run anyway.
    this.turn = this.turn.then(next).catch((error: unknown) => this.output.error(text(error)));
    return this.turn;
  }

  showOutput(): void {
    this.output.show(true);
  }

  dispose(): void {
    this.status.dispose();
    this.started.dispose();
    this.files.dispose();
    this.lenses.dispose();
    this.messages.dispose();
    this.evaluations.dispose();
    this.output.dispose();
  }

  private async startNow(): Promise<void> {
    this.looked = setting();
    const search = findServer();
    if ("missing" in search) {
      this.output.error(search.missing);
      this.fail("No server", search.missing);
      // A build that the user starts now also starts the server; the window does not wait.
      void offerServer(search.missing).then((built) => (built ? this.restart() : undefined));
      return;
    }
    this.output.info(`server: ${search.found}, from ${search.from}`);
    this.say("Starting", search.found, true);
    const run: Executable = { command: search.found };
    const options: LanguageClientOptions = {
      documentSelector: SELECTOR,
      initializationOptions: { views: true, tables: true },
      synchronize: {
        configurationSection: "iverson",
        fileEvents: this.files,
      },
      outputChannel: this.output,
      markdown: { isTrusted: { enabledCommands: ["iverson.showView"] } },
      middleware: { ...this.lenses.middleware, ...completion },
    };
    const client = new LanguageClient("iverson", "Iverson", run, options);
    this.client = client;
    client.onNotification(ShowMessageNotification.type, (message) => this.messages.tell(message));
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Running) {
        const info = client.initializeResult?.serverInfo;
        this.say("Running", `${info?.name ?? "iverson-lsp"} ${info?.version ?? ""}`.trim(), false);
      } else if (newState === State.Stopped && this.client === client) {
        this.fail("Stopped", "The language server has stopped.");
      }
    });
    try {
      await client.start();
      this.started.fire(client);
    } catch (error) {
      const message = `The language server ${search.found} failed to start: ${text(error)}`;
      this.fail("Failed to start", message);
      void vscode.window
        .showErrorMessage(`Iverson: ${message}`, "Show Output")
        .then((choice) => (choice ? this.showOutput() : undefined));
    }
  }

  private async stopNow(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    try {
      await client?.dispose();
    } catch (error) {
      this.output.warn(`the server did not shut down cleanly: ${text(error)}`);
    }
  }

  private say(state: string, detail: string, busy: boolean): void {
    this.status.text = state;
    this.status.detail = detail;
    this.status.busy = busy;
    this.status.severity = vscode.LanguageStatusSeverity.Information;
    this.status.command = { command: "iverson.showOutput", title: "Output" };
  }

  private fail(state: string, detail: string): void {
    this.say(state, detail, false);
    this.status.severity = vscode.LanguageStatusSeverity.Error;
    this.status.command = { command: "iverson.restartServer", title: "Start" };
  }
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

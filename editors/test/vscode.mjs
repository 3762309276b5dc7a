// VS Code test: runs the extension in code-server and Chromium, with the language server that
// IVERSON_LSP names:
//
//   editors/test/install.sh vscode
//   (cd editors/vscode && npm ci && npm run package)
//   IVERSON_LSP=target/debug/iverson-lsp node editors/test/vscode.mjs
//
// IVERSON_VSIX names the packaged extension; the default is the newest package in editors/vscode.
// IVERSON_SCREENSHOTS names the folder of the screenshots. Without this variable, the test keeps
// the screenshots only if a check fails.

import { spawn, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

const testFolder = path.dirname(fileURLToPath(import.meta.url));
const cache = path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache"), "iverson-editors");
const installed = path.join(cache, "vscode", "node_modules");

/** The time limit of a step, in milliseconds. It is long, because the first start fills caches. */
const STEP_LIMIT = 60_000;

const work = fs.mkdtempSync(path.join(os.tmpdir(), "iverson-vscode-"));
const screenshots = process.env.IVERSON_SCREENSHOTS || path.join(work, "screenshots");

/** The path of the language server in the settings: a symbolic link. */
const serverLink = path.join(work, "iverson-lsp");

function fail(message) {
  throw new Error(message);
}

/** Logs a passed check. */
function ok(message) {
  console.log(`vscode: ok: ${message}`);
}

/** Waits until `condition` returns a true value, and returns that value. */
async function waitUntil(message, condition, limit = STEP_LIMIT) {
  const end = Date.now() + limit;
  let value;
  while (Date.now() < end) {
    try {
      value = await condition();
    } catch (error) {
      value = undefined;
      if (!String(error).includes("Timeout")) {
        throw error;
      }
    }
    if (value) {
      ok(message);
      return value;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return fail(`FAILED: ${message}`);
}

/** Returns the file that an environment variable names, or the default. Fails if no file exists. */
function existingFile(variable, fallback) {
  const file = process.env[variable] || fallback;
  if (file === undefined || !fs.existsSync(file)) {
    fail(`${variable} must name an existing file${file === undefined ? "" : `; ${file} does not exist`}`);
  }
  return path.resolve(file);
}

/** Returns the newest package of the extension in editors/vscode. */
function newestPackage() {
  const folder = path.join(testFolder, "..", "vscode");
  const files = fs.readdirSync(folder).filter((name) => name.endsWith(".vsix"));
  const modified = (name) => fs.statSync(path.join(folder, name)).mtimeMs;
  files.sort((a, b) => modified(b) - modified(a));
  return files[0] && path.join(folder, files[0]);
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Returns the Node of `install.sh`, which code-server needs, or else the Node of this test. */
function nodePath() {
  const installedNode = path.join(cache, "node", "node_modules", "node", "bin", "node");
  return fs.existsSync(installedNode) ? installedNode : process.execPath;
}

const SETTINGS = {
  "iverson.server.path": serverLink,
  "workbench.startupEditor": "none",
  "window.autoDetectColorScheme": true,
  "workbench.preferredLightColorTheme": "Light Modern",
  "workbench.preferredDarkColorTheme": "Dark Modern",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.tips.enabled": false,
  "workbench.activityBar.location": "hidden",
  "chat.disableAIFeatures": true,
  "editor.fontSize": 13,
  "editor.hover.delay": 100,
  "editor.lightbulb.enabled": "off",
  "editor.minimap.enabled": false,
  "editor.scrollBeyondLastLine": false,
  "extensions.ignoreRecommendations": true,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "window.commandCenter": false,
  "security.workspace.trust.enabled": false,
};

/** Replaces the settings of the workspace. VS Code merges them with the user settings. */
function writeWorkspaceSettings(settings) {
  const folder = path.join(work, "project", ".vscode");
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, "settings.json"), JSON.stringify(settings));
}

/** Starts code-server with new settings, the extension and a folder of test programs. */
async function startCodeServer(lsp, vsix) {
  const entry = path.join(installed, "code-server", "out", "node", "entry.js");
  if (!fs.existsSync(entry)) {
    fail(`code-server is not installed: run ${path.join(testFolder, "install.sh")} vscode`);
  }
  const folder = path.join(work, "project");
  fs.mkdirSync(folder);
  fs.copyFileSync(path.join(testFolder, "program.iv"), path.join(folder, "program.iv"));
  fs.writeFileSync(
    path.join(folder, "values.iv"),
    "def halves() -> [300]f64 = for i < 300: 0.5 + f64(i)\n\ndef square(x: f64) -> f64 = x * x\n",
  );
  fs.writeFileSync(
    path.join(folder, "curve.iv"),
    'let x = for i < 50: f64(i) / 10\ndo print("greatest", max i: x[i])\ndo plot(x, for i: sin(x[i]), xlabel: "time")\n',
  );
  fs.writeFileSync(path.join(folder, "endless.iv"), "def endless() -> f64 = loop x = 1.0 while x > 0.0: x + 1.0\n");
  fs.symlinkSync(fs.realpathSync(lsp), serverLink);
  const user = path.join(work, "user");
  fs.mkdirSync(path.join(user, "User"), { recursive: true });
  fs.writeFileSync(path.join(user, "User", "settings.json"), JSON.stringify(SETTINGS));
  const commonArguments = ["--user-data-dir", user, "--extensions-dir", path.join(work, "extensions")];
  const env = { ...process.env, XDG_CONFIG_HOME: path.join(work, "config"), PASSWORD: "", VSCODE_IPC_HOOK_CLI: "" };
  const install = spawnSync(nodePath(), [entry, ...commonArguments, "--install-extension", vsix], { env, encoding: "utf8" });
  if (install.status !== 0) {
    fail(`code-server cannot install the extension: ${install.stdout}${install.stderr}`);
  }
  ok("code-server installs the extension");
  const port = await freePort();
  const serverOptions = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"];
  const args = [entry, ...commonArguments, ...serverOptions, "--bind-addr", `127.0.0.1:${port}`];
  const log = fs.openSync(path.join(work, "code-server.log"), "w");
  const server = spawn(nodePath(), args, { env, detached: true, stdio: ["ignore", log, log] });
  await waitUntil("code-server answers HTTP requests", () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      (response) => response.ok,
      () => false,
    ),
  );
  const file = path.join(folder, "program.iv");
  const payload = JSON.stringify([["openFile", `vscode-remote://127.0.0.1:${port}${file}`]]);
  const address = (query) => `http://127.0.0.1:${port}/?${new URLSearchParams(query)}`;
  return { server, programAddress: address({ folder, payload }), folderAddress: address({ folder }) };
}

/** Normalises spaces, because the editor renders other characters than the text contains. */
const normaliseSpaces = (text) => text.replace(/[\u00a0\u200b-\u200d]/gu, (space) => (space === "\u00a0" ? " " : ""));

/** The browser page of VS Code. */
class Window {
  constructor(page) {
    this.page = page;
  }

  /** Returns the editor whose text contains `part`. */
  async editor(part) {
    for (const editor of await this.page.locator(".editor-instance .monaco-editor").all()) {
      const lines = await editor.locator(".view-line").allTextContents();
      if (lines.some((line) => normaliseSpaces(line).includes(part))) {
        return editor;
      }
    }
    return undefined;
  }

  /** Returns the texts of all elements that match a selector. */
  async texts(selector, within = this.page) {
    return (await within.locator(selector).allTextContents()).map(normaliseSpaces);
  }

  /**
   * Returns the centre and both ends of the first `part` in the first line that contains `line`.
   * The editor must contain the text `within`.
   */
  async place(line, part, within = "") {
    const found = await this.page.evaluate(
      ([line, part, within]) => {
        const normalise = (text) => text.replace(/\u00a0/gu, " ");
        for (const element of document.querySelectorAll(".editor-instance .view-line")) {
          if (!normalise(element.textContent).includes(line)) continue;
          if (!normalise(element.closest(".monaco-editor").textContent).includes(within)) continue;
          const start = normalise(element.textContent).indexOf(part);
          const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
          let offset = 0;
          let range;
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const length = node.textContent.length;
            if (range === undefined && start >= offset && start < offset + length) {
              range = document.createRange();
              range.setStart(node, start - offset);
            }
            if (range !== undefined && start + part.length <= offset + length) {
              range.setEnd(node, start + part.length - offset);
              const box = range.getBoundingClientRect();
              if (box.right > element.closest(".monaco-editor").getBoundingClientRect().right) return null;
              return { left: box.left, x: box.x + box.width / 2, y: box.y + box.height / 2, right: box.right };
            }
            offset += length;
          }
        }
        return null;
      },
      [line, part, within],
    );
    return found ?? fail(`no visible line with the text "${line}" contains "${part}"`);
  }

  /** Waits until the place of a text is stable, because inlay hints move the text. */
  async stablePlace(line, part, within) {
    let previous = await this.place(line, part, within);
    for (let repeats = 0; repeats < 5; ) {
      await new Promise((resolve) => setTimeout(resolve, 150));
      const current = await this.place(line, part, within);
      repeats = current.x === previous.x && current.y === previous.y ? repeats + 1 : 0;
      previous = current;
    }
    return previous;
  }

  /** Clicks the centre of a text. */
  async click(line, part, options) {
    const { x, y } = await this.stablePlace(line, part);
    await this.page.mouse.click(x, y, options);
  }

  /** Returns the colour of the first character of `part`. */
  async colour(line, part, within) {
    const { left, y } = await this.stablePlace(line, part, within);
    return this.page.evaluate(([x, y]) => getComputedStyle(document.elementFromPoint(x, y)).color, [left + 3, y]);
  }

  /** Drags the border between the two editor groups to the column `x` of the page. */
  async moveEditorBorder(x) {
    const right = await this.page.locator(".editor-group-container").nth(1).boundingBox();
    await this.page.mouse.move(right.x, right.y + right.height / 2);
    await this.page.mouse.down();
    await this.page.mouse.move(x, right.y + right.height / 2, { steps: 5 });
    await this.page.mouse.up();
  }

  async screenshot(name) {
    // Fade animations must end first.
    await new Promise((resolve) => setTimeout(resolve, 700));
    await this.page.screenshot({ path: path.join(screenshots, `vscode-${name}.png`) });
  }

  /** Replaces `part` by typing `text`. */
  async replace(line, part, text) {
    const { y, right } = await this.stablePlace(line, part);
    await this.page.mouse.click(right - 1, y);
    for (let k = 0; k < part.length; k++) {
      await this.page.keyboard.press("Backspace");
    }
    await this.page.keyboard.type(text);
    // The Escape key closes the suggestions for the last word.
    await this.page.keyboard.press("Escape");
  }

  /** Opens a file of the project. */
  async open(name) {
    await this.page.keyboard.press("Control+P");
    const input = this.page.locator(".quick-input-widget input");
    await input.waitFor({ timeout: STEP_LIMIT });
    await input.fill(name);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().click({ timeout: STEP_LIMIT });
  }

  /** Runs a command by its title. */
  async command(title) {
    await this.page.keyboard.press("F1");
    const input = this.page.locator(".quick-input-widget input");
    await input.waitFor({ timeout: STEP_LIMIT });
    await input.fill(`>${title}`);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().click({ timeout: STEP_LIMIT });
  }

  /** Returns whether the browser stores a list of open editors that contains `part`. */
  storesOpenEditor(part) {
    return this.page.evaluate(async (part) => {
      const resultOf = (request) =>
        new Promise((resolve, reject) => {
          request.onsuccess = () => resolve(request.result);
          request.onerror = () => reject(request.error);
        });
      for (const { name } of await indexedDB.databases()) {
        if (!name.startsWith("vscode-web-state-db-")) continue;
        const database = await resultOf(indexedDB.open(name));
        try {
          const items = database.transaction("ItemTable").objectStore("ItemTable");
          const editors = await resultOf(items.get("memento/workbench.parts.editor"));
          if (String(editors).includes(part)) return true;
        } finally {
          database.close();
        }
      }
      return false;
    }, part);
  }

  /** Clicks a lens after its position is stable, because VS Code redraws the row for each cost. */
  async clickLens(name, title) {
    let previous = "";
    for (let repeats = 0; repeats < 8; ) {
      await new Promise((resolve) => setTimeout(resolve, 150));
      const lens = await this.lens(name, title);
      const current = JSON.stringify((await lens?.boundingBox()) ?? null);
      repeats = current === previous && current !== "null" ? repeats + 1 : 0;
      previous = current;
    }
    const { x, y, width, height } = JSON.parse(previous);
    await this.page.mouse.click(x + width / 2, y + height / 2);
  }

  /** Returns the lens `title` in the row above the definition `name`. */
  async lens(name, title) {
    const { y } = await this.place(`def ${name}(`, name);
    for (const link of await this.page.locator(".codelens-decoration a").all()) {
      const box = await link.boundingBox();
      if (box !== null && box.y < y && y - box.y < 30 && normaliseSpaces((await link.textContent()) ?? "").includes(title)) {
        return link;
      }
    }
    return undefined;
  }
}

/** Runs all checks. `folderAddress` is the address of the project without an open file. */
async function test(window, folderAddress) {
  const { page } = window;
  await waitUntil("the address of a file opens the file", () => window.editor("def conv"));
  // The side bar must be hidden, because two editors need its room.
  await waitUntil("the window hides the side bar", async () => {
    if (await page.locator(".part.sidebar").isVisible()) {
      await page.keyboard.press("Control+B");
      return false;
    }
    return true;
  });
  const countErrors = () => page.locator(".squiggly-error").count();

  await waitUntil("the program has at least three lenses", async () =>
    (await window.texts(".codelens-decoration")).length >= 3,
  );
  await waitUntil('the lens titles contain "run" and "adjoint"', async () => {
    const titles = (await window.texts(".codelens-decoration")).join("\n");
    return titles.includes("run") && titles.includes("adjoint");
  });
  await waitUntil("an inlay hint shows the inferred range of `sum i`", async () =>
    (await window.texts(".editor-instance .view-line")).some((line) => line.includes("sum i < n:")),
  );
  await waitUntil("a correct program has no error squiggles", async () => (await countErrors()) === 0);

  const hasDistinctColours = async () => {
    const colours = new Set();
    for (const word of ["n + m", "x", "i + j", "f64"]) {
      colours.add(await window.colour("def conv(", word));
    }
    return colours.size === 4;
  };
  await waitUntil("a size, a parameter, an index and a type have four distinct colours", hasDistinctColours);
  await window.screenshot("lenses");

  const definition = await window.place("def conv(", "conv");
  await page.mouse.move(definition.x, definition.y);
  await waitUntil("the hover of a definition contains its name", async () =>
    (await window.texts(".monaco-hover:not(.hidden) .hover-row")).some((row) => row.includes("conv")),
  );
  const hover = page.locator(".monaco-hover:not(.hidden)");
  await waitUntil("the hover of a definition names its adjoint", async () =>
    (await window.texts(".monaco-hover:not(.hidden) .hover-row")).some((row) => row.includes("conv_adj")),
  );
  await waitUntil("the hover of a definition contains a table", async () => (await hover.locator("table").count()) > 0);
  await waitUntil("the hover of a definition highlights its code", async () =>
    (await hover.locator(".monaco-tokenized-source span[class^=mtk]").count()) > 0,
  );
  await window.screenshot("hover");
  await page.mouse.move(5, 5);

  await window.replace("(x, c) in sum", "conv", "unknown");
  await waitUntil("an unknown name has an error squiggle", async () => (await countErrors()) > 0);
  await window.screenshot("squiggle");
  await window.replace("(x, c) in sum", "unknown", "conv");
  await waitUntil("a corrected program has no error squiggles", async () => (await countErrors()) === 0);

  await waitUntil('the definition `loss` has the lens "adjoint"', () => window.lens("loss", "adjoint"));
  await window.clickLens("loss", "adjoint");
  await waitUntil('the lens "adjoint" opens the adjoint view', () => window.editor("def loss_adj("));
  const adjointContains = async (part) => (await window.editor("def loss_adj("))?.locator(".view-line").allTextContents()
    .then((lines) => lines.some((line) => normaliseSpaces(line).includes(part)));
  await waitUntil("the adjoint view contains the derivative of the square", () => adjointContains("2 * out_adj"));
  await window.replace("(x, c) in sum", "^2", "^3");
  await waitUntil("the adjoint view follows an edit of the exponent", () => adjointContains("3 * out_adj"));
  await window.replace("(x, c) in sum", "^3", "^2");
  await waitUntil("the adjoint view follows a second edit of the exponent", () => adjointContains("2 * out_adj"));

  for (const word of ["def", "let", "for", "sum", "f64"]) {
    await waitUntil(`the word "${word}" has the same colour in the program and in the adjoint view`, async () => {
      const program = await window.colour(word, word, "def conv(");
      return program === (await window.colour(word, word, "def loss_adj("));
    });
  }

  await window.moveEditorBorder(815);

  const hasHighlight = async (part) => {
    const editor = await window.editor(part);
    return (await editor?.locator(".view-overlays [class*=ced-]").count()) > 0;
  };
  await window.click("2 * out_adj", "out_adj");
  await waitUntil("a line of the adjoint view highlights its origin in the program", () => hasHighlight("def conv("));
  await window.screenshot("adjoint");
  await window.click("(x, c) in sum", "(y[i]");
  await waitUntil("the cursor in the program highlights the derived line of the adjoint view", () => hasHighlight("def loss_adj("));

  // The reload must wait, because VS Code in a browser stores its open editors only when idle.
  await waitUntil("the browser stores the adjoint view as an open editor", () => window.storesOpenEditor("iverson-view"));
  // The address must not name a file, because VS Code would then restore no other editor.
  await page.goto(folderAddress);
  await waitUntil("a reload restores the program", () => window.editor("def conv("));
  await waitUntil("a reload restores the adjoint view", () => window.editor("def loss_adj("));
  await waitUntil('a reload restores the lens "adjoint"', () => window.lens("loss", "adjoint"));
  await window.replace("(x, c) in sum", "^2", "^3");
  await waitUntil("the restored adjoint view follows an edit of the exponent", () => adjointContains("3 * out_adj"));
  await window.replace("(x, c) in sum", "^3", "^2");
  await waitUntil("the restored adjoint view follows a second edit of the exponent", () => adjointContains("2 * out_adj"));
  await window.click("2 * out_adj", "out_adj");
  await waitUntil("a line of the restored adjoint view highlights its origin in the program", () => hasHighlight("def conv("));
  await window.click("(x, c) in sum", "(y[i]");

  await window.command("Iverson: Restart Language Server");
  await window.command("Iverson: Show Cost beside the Code");
  await waitUntil('the command "Show Cost" waits for the restarted server and opens loss.cost.iv', async () =>
    (await window.texts(".tab")).some((name) => name.includes("loss.cost.iv")),
  );
  const cost = "proved for all sizes";
  await waitUntil('the cost view contains the text "proved for all sizes"', () => window.editor(cost));
  await waitUntil("the cost view has one text colour, because its text is prose", async () => {
    const colours = new Set();
    for (const word of ["proved", "for", "sizes"]) {
      colours.add(await window.colour(cost, word));
    }
    return colours.size === 1;
  });
  await window.screenshot("cost");
  await window.click("work by location", "location");
  await page.keyboard.press("ArrowDown");
  await waitUntil("a line of the cost view highlights its origin in the program", () => hasHighlight("def conv("));
  await window.click("(x, c) in sum", "(y[i]");

  await window.command("Iverson: Show Tensor SSA beside the Code");
  await waitUntil('the command "Show Tensor SSA" opens loss.ssa.iv', async () =>
    (await window.texts(".tab")).some((name) => name.includes("loss.ssa.iv")),
  );
  await window.click("(x, c) in sum", "(y[i]");

  await waitUntil('the definition `answer` has the lens "run"', () => window.lens("answer", "run"));
  await window.clickLens("answer", "run");
  await waitUntil('the lens "run" shows the value in a notification', async () =>
    (await window.texts(".notification-toast, .notifications-toasts")).some((text) => text.includes("0.5625")),
  );
  await window.screenshot("run");

  await page.emulateMedia({ colorScheme: "dark" });
  await waitUntil("VS Code follows the dark colour scheme of the browser", async () =>
    (await page.locator(".monaco-workbench.vs-dark").count()) > 0,
  );
  await waitUntil("a size, a parameter, an index and a type have four distinct colours in the dark theme", hasDistinctColours);
  await window.screenshot("dark");

  const problems = page.locator(".notification-list-item:has(.codicon-error), .notification-list-item:has(.codicon-warning)");
  await waitUntil("no notification reports an error or a warning", async () => (await problems.count()) === 0, 1000);

  await window.open("values.iv");
  await waitUntil("the file values.iv opens", () => window.editor("def halves("));
  await waitUntil('the definition `halves` has the lens "run"', () => window.lens("halves", "run"));
  await window.clickLens("halves", "run");
  const panelContains = async (text) => (await window.texts(".part.panel .view-line")).some((line) => line.includes(text));
  const notificationContains = async (text) =>
    (await window.texts(".notification-toast, .notifications-toasts")).some((toast) => toast.includes(text));
  const editorHasFocus = () => page.evaluate(() => Boolean(document.activeElement?.closest(".editor-instance")));
  await waitUntil("the panel shows the first line of a long value", () => panelContains("halves ="));
  await waitUntil("the panel shows the elements of a long value", () => panelContains("0.5,"));
  await waitUntil("no notification shows the long value", async () => !(await notificationContains("halves =")), 1000);
  await waitUntil("the editor keeps the focus when the panel opens", editorHasFocus, 1000);
  await window.screenshot("all");

  await window.open("curve.iv");
  await waitUntil("the file curve.iv opens", () => window.editor("do plot("));
  await window.command("Iverson: Run File");
  await waitUntil("the panel shows the printed text", () => panelContains("greatest 4.9"));
  await waitUntil("the panel shows the plot", () => panelContains("┤"));
  await waitUntil("no notification shows the printed text", async () => !(await notificationContains("greatest")), 1000);
  await waitUntil("the editor keeps the focus when the panel shows the plot", editorHasFocus, 1000);
  await window.screenshot("plot");

  await window.open("endless.iv");
  await waitUntil("the file endless.iv opens", () => window.editor("def endless("));
  await waitUntil('the definition `endless` has the lens "run"', () => window.lens("endless", "run"));
  await window.clickLens("endless", "run");
  const stop = page.locator(".statusbar-item", { hasText: "Stop Iverson" });
  await waitUntil('the status bar shows "Stop Iverson" during an evaluation', () => stop.isVisible());
  await waitUntil("the toolbar of the editor shows the stop button during an evaluation", async () =>
    (await page.locator(".editor-actions .codicon-debug-stop").count()) > 0,
  );
  await window.screenshot("stop");
  await stop.click({ timeout: STEP_LIMIT });
  await waitUntil('the item "Stop Iverson" stops the evaluation', async () =>
    (await window.texts(".notification-toast, .notifications-toasts")).some((text) => text.includes("endless was stopped")),
  );
  await waitUntil('the status bar hides "Stop Iverson" after the evaluation', async () => !(await stop.isVisible()));
  writeWorkspaceSettings({ "iverson.evaluate.seconds": 1, "iverson.lenses.views": false });
  await waitUntil('the setting iverson.lenses.views hides the lens "SSA"', async () =>
    !(await window.texts(".codelens-decoration a")).includes("SSA"),
  );
  await window.clickLens("endless", "run");
  await waitUntil("the notification of the time limit names the stopped definition", () =>
    notificationContains("endless was stopped after 1 s"),
  );
  await waitUntil("the notification of the time limit names its setting", () => notificationContains("`iverson.evaluate.seconds` sets"));
  await window.screenshot("late");
  writeWorkspaceSettings({});

  await window.open("values.iv");
  await waitUntil("the file values.iv opens a second time", () => window.editor("def halves("));
  await window.click("def halves(", "halves");
  await page.keyboard.press("Control+End");
  const suggests = (name) => async () => (await window.texts(".suggest-widget .label-name")).includes(name);
  // The keys Control+Space request suggestions, because a busy VS Code may not do so on its own.
  const waitForSuggestion = (message, name) => {
    let since = Date.now();
    return waitUntil(message, async () => {
      if (await suggests(name)()) {
        return true;
      }
      if (Date.now() - since > 2000) {
        since = Date.now();
        await page.keyboard.press("Control+Space");
      }
      return false;
    });
  };
  await page.keyboard.type("def total() -> f64 = su", { delay: 30 });
  await waitForSuggestion("completion suggests the binder `sum`", "sum");
  await waitUntil("completion suggests the binder `sum` once", async () =>
    (await window.texts(".suggest-widget .label-name")).filter((name) => name === "sum").length === 1,
  );
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.keyboard.type("let slope = grad(");
  // The suggestions must arrive first, because VS Code would assign a late list to the next word.
  await waitForSuggestion("completion suggests the differentiable definition `square` after `grad(`", "square");
  await page.keyboard.type("square, wr", { delay: 50 });
  await waitForSuggestion("completion suggests the argument name `wrt`", "wrt");
  await page.keyboard.press("Enter");
  await waitUntil("completion suggests the parameter `x` as the value of `wrt`", suggests("x"));
  await window.screenshot("argument");
  await page.keyboard.press("Escape");

  fs.rmSync(serverLink);
  await window.command("Iverson: Restart Language Server");
  await waitUntil("a notification reports a missing language server", async () =>
    (await window.texts(".notification-toast, .notifications-toasts")).some((text) => text.includes("but no program exists there")),
  );
  await page
    .locator(".notification-list-item", { hasText: "but no program exists there" })
    .locator("a", { hasText: "Open Settings" })
    .first()
    .click({ timeout: STEP_LIMIT });
  await waitUntil('the button "Open Settings" shows the setting of the server path', async () =>
    (await window.texts(".settings-editor .setting-item-contents")).some((text) => text.includes("Server: Path")),
  );
  await window.screenshot("settings");
  await waitUntil("the Escape key closes the settings editor", async () => {
    await page.keyboard.press("Escape");
    return (await page.locator(".settings-editor").count()) === 0;
  });
  fs.symlinkSync(fs.realpathSync(process.env.IVERSON_LSP), serverLink);
  await window.command("Iverson: Restart Language Server");
  await waitUntil("the restored language server starts and shows lenses", async () =>
    (await window.texts(".codelens-decoration")).length >= 3,
  );
}

async function main() {
  const lsp = existingFile("IVERSON_LSP");
  const vsix = existingFile("IVERSON_VSIX", newestPackage());
  fs.mkdirSync(screenshots, { recursive: true });
  const { chromium } = createRequire(path.join(installed, "x.js"))("playwright-core");
  let session;
  let browser;
  try {
    session = await startCodeServer(lsp, vsix);
    const executablePath = process.env.CHROMIUM || ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(fs.existsSync);
    browser = await chromium.launch({
      executablePath,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    });
    const context = await browser.newContext({ viewport: { width: 1400, height: 480 }, deviceScaleFactor: 1.5, colorScheme: "light" });
    const page = await context.newPage();
    await page.goto(session.programAddress);
    try {
      await test(new Window(page), session.folderAddress);
    } catch (error) {
      await page.screenshot({ path: path.join(screenshots, "vscode-failed.png") }).catch(() => undefined);
      for (const notification of await page.locator(".notification-list-item").allTextContents()) {
        console.error(`vscode: the window shows the notification: ${normaliseSpaces(notification)}`);
      }
      console.error(`vscode: the screenshot is ${path.join(screenshots, "vscode-failed.png")}; the work folder is ${work}`);
      throw error;
    }
    console.log(`vscode: all checks passed${process.env.IVERSON_SCREENSHOTS ? `; the screenshots are in ${screenshots}` : ""}`);
  } finally {
    await browser?.close();
    if (session?.server.pid !== undefined) {
      try {
        process.kill(-session.server.pid, "SIGTERM");
      } catch {
        // code-server may exit before this signal.
      }
    }
  }
  fs.rmSync(work, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

main().catch((error) => {
  console.error(`vscode: ${error.message}`);
  process.exit(1);
});

// The extension in VS Code, served to Chromium by code-server, with the server that IVERSON_LSP names:
//
//   editors/test/install.sh vscode
//   (cd editors/vscode && npm ci && npm run package)
//   IVERSON_LSP=target/debug/iverson-lsp node editors/test/vscode.mjs
//
// IVERSON_VSIX is the extension, by default the last packaged; IVERSON_SCREENSHOTS is the folder
// for pictures. Without it the test keeps them only if it fails.

import { spawn, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const cache = path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache"), "iverson-editors");
const installed = path.join(cache, "vscode", "node_modules");

/** The time limit of a step, in milliseconds; a first start fills caches. */
const PATIENCE = 60_000;

const work = fs.mkdtempSync(path.join(os.tmpdir(), "iverson-vscode-"));
const pictures = process.env.IVERSON_SCREENSHOTS || path.join(work, "pictures");

/** The path of the server in the settings. */
const link = path.join(work, "iverson-lsp");

function fail(text) {
  throw new Error(text);
}

function ok(text) {
  console.log(`vscode: ok: ${text}`);
}

/** Waits until `test` returns a true value, and returns it. */
async function until(text, test, patience = PATIENCE) {
  const end = Date.now() + patience;
  let last;
  while (Date.now() < end) {
    try {
      last = await test();
    } catch (error) {
      last = undefined;
      if (!String(error).includes("Timeout")) {
        throw error;
      }
    }
    if (last) {
      ok(text);
      return last;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return fail(`FAILED: ${text}`);
}

function program(name, fallback) {
  const value = process.env[name] || fallback;
  if (value === undefined || !fs.existsSync(value)) {
    fail(`${name} has to name ${value === undefined ? "a file" : `a file, which ${value} is not`}`);
  }
  return path.resolve(value);
}

function packaged() {
  const folder = path.join(here, "..", "vscode");
  const files = fs.readdirSync(folder).filter((name) => name.endsWith(".vsix"));
  const age = (name) => fs.statSync(path.join(folder, name)).mtimeMs;
  files.sort((a, b) => age(b) - age(a));
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

/** The Node that code-server needs, where `install.sh` has installed it. */
function node() {
  const own = path.join(cache, "node", "node_modules", "node", "bin", "node");
  return fs.existsSync(own) ? own : process.execPath;
}

const SETTINGS = {
  "iverson.server.path": link,
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

/** Settings of the workspace, besides those of the user. */
function configure(settings) {
  const folder = path.join(work, "project", ".vscode");
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, "settings.json"), JSON.stringify(settings));
}

/** Starts a fresh VS Code with the extension and a copy of the program. */
async function serve(lsp, vsix) {
  const entry = path.join(installed, "code-server", "out", "node", "entry.js");
  if (!fs.existsSync(entry)) {
    fail(`code-server is not installed: run ${path.join(here, "install.sh")} vscode`);
  }
  const folder = path.join(work, "project");
  fs.mkdirSync(folder);
  fs.copyFileSync(path.join(here, "program.iv"), path.join(folder, "program.iv"));
  fs.writeFileSync(
    path.join(folder, "values.iv"),
    "def halves() -> [300]f64 = for i < 300: 0.5 + f64(i)\n\ndef square(x: f64) -> f64 = x * x\n",
  );
  fs.writeFileSync(
    path.join(folder, "curve.iv"),
    'let x = for i < 50: f64(i) / 10\ndo print("greatest", max i: x[i])\ndo plot(x, for i: sin(x[i]), xlabel: "time")\n',
  );
  fs.writeFileSync(path.join(folder, "endless.iv"), "def endless() -> f64 = loop x = 1.0 while x > 0.0: x + 1.0\n");
  fs.symlinkSync(fs.realpathSync(lsp), link);
  const user = path.join(work, "user");
  fs.mkdirSync(path.join(user, "User"), { recursive: true });
  fs.writeFileSync(path.join(user, "User", "settings.json"), JSON.stringify(SETTINGS));
  const shared = ["--user-data-dir", user, "--extensions-dir", path.join(work, "extensions")];
  const env = { ...process.env, XDG_CONFIG_HOME: path.join(work, "config"), PASSWORD: "", VSCODE_IPC_HOOK_CLI: "" };
  const install = spawnSync(node(), [entry, ...shared, "--install-extension", vsix], { env, encoding: "utf8" });
  if (install.status !== 0) {
    fail(`the extension cannot be installed: ${install.stdout}${install.stderr}`);
  }
  ok("the extension is installed");
  const port = await freePort();
  const quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"];
  const args = [entry, ...shared, ...quiet, "--bind-addr", `127.0.0.1:${port}`];
  const log = fs.openSync(path.join(work, "code-server.log"), "w");
  const server = spawn(node(), args, { env, detached: true, stdio: ["ignore", log, log] });
  await until("it is served", () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      (response) => response.ok,
      () => false,
    ),
  );
  const file = path.join(folder, "program.iv");
  const payload = JSON.stringify([["openFile", `vscode-remote://127.0.0.1:${port}${file}`]]);
  const address = (query) => `http://127.0.0.1:${port}/?${new URLSearchParams(query)}`;
  return { server, address: address({ folder, payload }), again: address({ folder }) };
}

/** Normalises spaces, because the editor renders others than the text has. */
const plain = (text) => text.replace(/[\u00a0\u200b-\u200d]/gu, (space) => (space === "\u00a0" ? " " : ""));

class Window {
  constructor(page) {
    this.page = page;
  }

  /** The editor whose text contains `part`. */
  async editor(part) {
    for (const editor of await this.page.locator(".editor-instance .monaco-editor").all()) {
      const lines = await editor.locator(".view-line").allTextContents();
      if (lines.some((line) => plain(line).includes(part))) {
        return editor;
      }
    }
    return undefined;
  }

  async texts(selector, within = this.page) {
    return (await within.locator(selector).allTextContents()).map(plain);
  }

  /** The middle and ends of the first `part` in the line with `line`; `within` picks the editor. */
  async place(line, part, within = "") {
    const found = await this.page.evaluate(
      ([line, part, within]) => {
        const same = (text) => text.replace(/\u00a0/gu, " ");
        for (const element of document.querySelectorAll(".editor-instance .view-line")) {
          if (!same(element.textContent).includes(line)) continue;
          if (!same(element.closest(".monaco-editor").textContent).includes(within)) continue;
          const start = same(element.textContent).indexOf(part);
          const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
          let at = 0;
          let range;
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const length = node.textContent.length;
            if (range === undefined && start >= at && start < at + length) {
              range = document.createRange();
              range.setStart(node, start - at);
            }
            if (range !== undefined && start + part.length <= at + length) {
              range.setEnd(node, start + part.length - at);
              const box = range.getBoundingClientRect();
              if (box.right > element.closest(".monaco-editor").getBoundingClientRect().right) return null;
              return { left: box.left, x: box.x + box.width / 2, y: box.y + box.height / 2, right: box.right };
            }
            at += length;
          }
        }
        return null;
      },
      [line, part, within],
    );
    return found ?? fail(`no line ${line} with ${part} is in sight`);
  }

  /** The position, once it is stable, because hints move the text as they come and go. */
  async steady(line, part, within) {
    let before = await this.place(line, part, within);
    for (let same = 0; same < 5; ) {
      await new Promise((resolve) => setTimeout(resolve, 150));
      const now = await this.place(line, part, within);
      same = now.x === before.x && now.y === before.y ? same + 1 : 0;
      before = now;
    }
    return before;
  }

  async click(line, part, options) {
    const { x, y } = await this.steady(line, part);
    await this.page.mouse.click(x, y, options);
  }

  /** The colour at the start of the first `part`. */
  async colour(line, part, within) {
    const { left, y } = await this.steady(line, part, within);
    return this.page.evaluate(([x, y]) => getComputedStyle(document.elementFromPoint(x, y)).color, [left + 3, y]);
  }

  /** Moves the border between two editors. */
  async widen(to) {
    const right = await this.page.locator(".editor-group-container").nth(1).boundingBox();
    await this.page.mouse.move(right.x, right.y + right.height / 2);
    await this.page.mouse.down();
    await this.page.mouse.move(to, right.y + right.height / 2, { steps: 5 });
    await this.page.mouse.up();
  }

  async picture(name) {
    // Waits for fades to end.
    await new Promise((resolve) => setTimeout(resolve, 700));
    await this.page.screenshot({ path: path.join(pictures, `vscode-${name}.png`) });
  }

  async replace(line, part, text) {
    const { y, right } = await this.steady(line, part);
    await this.page.mouse.click(right - 1, y);
    for (let k = 0; k < part.length; k++) {
      await this.page.keyboard.press("Backspace");
    }
    await this.page.keyboard.type(text);
    // Dismisses the suggestions for the last word.
    await this.page.keyboard.press("Escape");
  }

  /** Opens a file of the project. */
  async open(name) {
    await this.page.keyboard.press("Control+P");
    const input = this.page.locator(".quick-input-widget input");
    await input.waitFor({ timeout: PATIENCE });
    await input.fill(name);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().click({ timeout: PATIENCE });
  }

  /** Runs a command by its title. */
  async command(title) {
    await this.page.keyboard.press("F1");
    const input = this.page.locator(".quick-input-widget input");
    await input.waitFor({ timeout: PATIENCE });
    await input.fill(`>${title}`);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().click({ timeout: PATIENCE });
  }

  /** Whether the list of open editors that this browser has stored contains `part`. */
  stores(part) {
    return this.page.evaluate(async (part) => {
      const answer = (request) =>
        new Promise((resolve, reject) => {
          request.onsuccess = () => resolve(request.result);
          request.onerror = () => reject(request.error);
        });
      for (const { name } of await indexedDB.databases()) {
        if (!name.startsWith("vscode-web-state-db-")) continue;
        const database = await answer(indexedDB.open(name));
        try {
          const items = database.transaction("ItemTable").objectStore("ItemTable");
          const editors = await answer(items.get("memento/workbench.parts.editor"));
          if (String(editors).includes(part)) return true;
        } finally {
          database.close();
        }
      }
      return false;
    }, part);
  }

  /** Clicks a lens once it is stable, because VS Code redraws its row when costs arrive. */
  async press(name, title) {
    let before = "";
    for (let same = 0; same < 8; ) {
      await new Promise((resolve) => setTimeout(resolve, 150));
      const lens = await this.lens(name, title);
      const now = JSON.stringify((await lens?.boundingBox()) ?? null);
      same = now === before && now !== "null" ? same + 1 : 0;
      before = now;
    }
    const { x, y, width, height } = JSON.parse(before);
    await this.page.mouse.click(x + width / 2, y + height / 2);
  }

  /** The lens `title` in the row above the definition `name`. */
  async lens(name, title) {
    const { y } = await this.place(`def ${name}(`, name);
    for (const link of await this.page.locator(".codelens-decoration a").all()) {
      const box = await link.boundingBox();
      if (box !== null && box.y < y && y - box.y < 30 && plain((await link.textContent()) ?? "").includes(title)) {
        return link;
      }
    }
    return undefined;
  }
}

async function test(window, again) {
  const { page } = window;
  await until("the program is open", () => window.editor("def conv"));
  // Makes room for two editors.
  await until("with room beside it", async () => {
    if (await page.locator(".part.sidebar").isVisible()) {
      await page.keyboard.press("Control+B");
      return false;
    }
    return true;
  });
  const errors = () => page.locator(".squiggly-error").count();

  await until("there are lenses", async () => (await window.texts(".codelens-decoration")).length >= 3);
  await until("of running and of the adjoint", async () => {
    const titles = (await window.texts(".codelens-decoration")).join("\n");
    return titles.includes("run") && titles.includes("adjoint");
  });
  await until("inferred ranges are shown", async () =>
    (await window.texts(".editor-instance .view-line")).some((line) => line.includes("sum i < n:")),
  );
  await until("a good program has no squiggles", async () => (await errors()) === 0);

  const coloured = async () => {
    const colours = new Set();
    for (const word of ["n + m", "x", "i + j", "f64"]) {
      colours.add(await window.colour("def conv(", word));
    }
    return colours.size === 4;
  };
  await until("sizes, indices and names have their colours", coloured);
  await window.picture("lenses");

  const over = await window.place("def conv(", "conv");
  await page.mouse.move(over.x, over.y);
  await until("a hover tells of the definition", async () =>
    (await window.texts(".monaco-hover:not(.hidden) .hover-row")).some((row) => row.includes("conv")),
  );
  const hover = page.locator(".monaco-hover:not(.hidden)");
  await until("and of its adjoint", async () =>
    (await window.texts(".monaco-hover:not(.hidden) .hover-row")).some((row) => row.includes("conv_adj")),
  );
  await until("with a table", async () => (await hover.locator("table").count()) > 0);
  await until("with coloured code", async () => (await hover.locator(".monaco-tokenized-source span[class^=mtk]").count()) > 0);
  await window.picture("hover");
  await page.mouse.move(5, 5);

  await window.replace("(x, c) in sum", "conv", "unknown");
  await until("an unknown name has a squiggle", async () => (await errors()) > 0);
  await window.picture("squiggle");
  await window.replace("(x, c) in sum", "unknown", "conv");
  await until("and none when it is mended", async () => (await errors()) === 0);

  await until("the definition has a lens of its adjoint", () => window.lens("loss", "adjoint"));
  await window.press("loss", "adjoint");
  await until("the adjoint opens beside the code", () => window.editor("def loss_adj("));
  const inView = async (part) => (await window.editor("def loss_adj("))?.locator(".view-line").allTextContents()
    .then((lines) => lines.some((line) => plain(line).includes(part)));
  await until("it is the adjoint of the program", () => inView("2 * out_adj"));
  await window.replace("(x, c) in sum", "^2", "^3");
  await until("it follows an edit", () => inView("3 * out_adj"));
  await window.replace("(x, c) in sum", "^3", "^2");
  await until("and another", () => inView("2 * out_adj"));

  for (const word of ["def", "let", "for", "sum", "f64"]) {
    await until(`${word} has the same colour in both`, async () => {
      const program = await window.colour(word, word, "def conv(");
      return program === (await window.colour(word, word, "def loss_adj("));
    });
  }

  await window.widen(815);

  const marked = async (part) => {
    const editor = await window.editor(part);
    return (await editor?.locator(".view-overlays [class*=ced-]").count()) > 0;
  };
  await window.click("2 * out_adj", "out_adj");
  await until("a line of it stands out in the program", () => marked("def conv("));
  await window.picture("adjoint");
  await window.click("(x, c) in sum", "(y[i]");
  await until("and what is selected in the program stands out in it", () => marked("def loss_adj("));

  // VS Code in a browser stores its open editors only when idle, and may lose them with its window.
  await until("the adjoint is written down among what is open", () => window.stores("iverson-view"));
  // If the URL names a file, VS Code opens it alone.
  await page.goto(again);
  await until("the window is loaded anew with its program", () => window.editor("def conv("));
  await until("and with the adjoint beside it", () => window.editor("def loss_adj("));
  await until("there are lenses again", () => window.lens("loss", "adjoint"));
  await window.replace("(x, c) in sum", "^2", "^3");
  await until("and the adjoint follows the program", () => inView("3 * out_adj"));
  await window.replace("(x, c) in sum", "^3", "^2");
  await until("to the end", () => inView("2 * out_adj"));
  await window.click("2 * out_adj", "out_adj");
  await until("a line of it stands out in the program again", () => marked("def conv("));
  await window.click("(x, c) in sum", "(y[i]");

  await window.command("Iverson: Restart Language Server");
  await window.command("Iverson: Show Cost beside the Code");
  await until("a command waits for a server that starts", async () =>
    (await window.texts(".tab")).some((name) => name.includes("loss.cost.iv")),
  );
  const cost = "proved for all sizes";
  await until("a cost is told", () => window.editor(cost));
  await until("and no word of it is coloured as code", async () => {
    const colours = new Set();
    for (const word of ["proved", "for", "sizes"]) {
      colours.add(await window.colour(cost, word));
    }
    return colours.size === 1;
  });
  await window.picture("cost");
  await window.click("work by location", "location");
  await page.keyboard.press("ArrowDown");
  await until("a line of it stands out in the program too", () => marked("def conv("));
  await window.click("(x, c) in sum", "(y[i]");

  await window.command("Iverson: Show Tensor SSA beside the Code");
  await until("a command opens another form", async () =>
    (await window.texts(".tab")).some((name) => name.includes("loss.ssa.iv")),
  );
  await window.click("(x, c) in sum", "(y[i]");

  await until("a definition has a lens that runs it", () => window.lens("answer", "run"));
  await window.press("answer", "run");
  await until("and its value is told", async () =>
    (await window.texts(".notification-toast, .notifications-toasts")).some((text) => text.includes("0.5625")),
  );
  await window.picture("run");

  await page.emulateMedia({ colorScheme: "dark" });
  await until("a dark theme is a theme too", async () => (await page.locator(".monaco-workbench.vs-dark").count()) > 0);
  await until("with these colours", coloured);
  await window.picture("dark");

  const problems = page.locator(".notification-list-item:has(.codicon-error), .notification-list-item:has(.codicon-warning)");
  await until("and the window has told of no problem", async () => (await problems.count()) === 0, 1000);

  await window.open("values.iv");
  await until("another program is open", () => window.editor("def halves("));
  await until("with its lenses", () => window.lens("halves", "run"));
  await window.press("halves", "run");
  const below = async (text) => (await window.texts(".part.panel .view-line")).some((line) => line.includes(text));
  const told = async (text) =>
    (await window.texts(".notification-toast, .notifications-toasts")).some((toast) => toast.includes(text));
  const inProgram = () => page.evaluate(() => document.activeElement?.closest(".editor-instance") !== null);
  await until("a long value opens the results, at its beginning", () => below("halves ="));
  await until("which has its rows", () => below("0.5,"));
  await until("not in a notification", async () => !(await told("halves =")), 1000);
  await until("and the program keeps the cursor", inProgram, 1000);
  await window.picture("all");

  await window.open("curve.iv");
  await until("a program with a plot is open", () => window.editor("do plot("));
  await window.command("Iverson: Run File");
  await until("what it prints is below", () => below("greatest 4.9"));
  await until("with the plot", () => below("┤"));
  await until("and in no notification", async () => !(await told("greatest")), 1000);
  await until("and this program keeps the cursor", inProgram, 1000);
  await window.picture("plot");

  await window.open("endless.iv");
  await until("a program that never ends is open", () => window.editor("def endless("));
  await until("with its lenses too", () => window.lens("endless", "run"));
  await window.press("endless", "run");
  const stop = page.locator(".statusbar-item", { hasText: "Stop Iverson" });
  await until("while it runs it can be stopped in the status bar", () => stop.isVisible());
  await until("and above the program", async () => (await page.locator(".editor-actions .codicon-debug-stop").count()) > 0);
  await window.picture("stop");
  await stop.click({ timeout: PATIENCE });
  await until("and is", async () =>
    (await window.texts(".notification-toast, .notifications-toasts")).some((text) => text.includes("endless was stopped")),
  );
  await until("then there is nothing to stop", async () => !(await stop.isVisible()));
  configure({ "iverson.evaluate.seconds": 1, "iverson.lenses.views": false });
  await until("settings are followed", async () => !(await window.texts(".codelens-decoration a")).includes("SSA"));
  await window.press("endless", "run");
  await until("what takes too long is told by its name", () => told("endless was stopped after 1 s"));
  await until("with the setting that says how long", () => told("`iverson.evaluate.seconds` sets"));
  await window.picture("late");
  configure({});

  await window.open("values.iv");
  await until("the other program is in sight again", () => window.editor("def halves("));
  await window.click("def halves(", "halves");
  await page.keyboard.press("Control+End");
  const offered = (name) => async () => (await window.texts(".suggest-widget .label-name")).includes(name);
  // Requests explicitly, as a user does, the suggestions that a busy VS Code did not request.
  const completed = (what, name) => {
    let since = Date.now();
    return until(what, async () => {
      if (await offered(name)()) {
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
  await completed("names are completed", "sum");
  await until("and each once", async () =>
    (await window.texts(".suggest-widget .label-name")).filter((name) => name === "sum").length === 1,
  );
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.keyboard.type("let slope = grad(");
  // VS Code assigns a list that arrives after the start of the next word to that word.
  await completed("and what may be differentiated, at its bracket", "square");
  await page.keyboard.type("square, wr", { delay: 50 });
  await completed("and so are those of arguments", "wrt");
  await page.keyboard.press("Enter");
  await until("after which it is offered what they may be", offered("x"));
  await window.picture("argument");
  await page.keyboard.press("Escape");

  fs.rmSync(link);
  await window.command("Iverson: Restart Language Server");
  await until("a server that is not there is told", async () =>
    (await window.texts(".notification-toast, .notifications-toasts")).some((text) => text.includes("but no program exists there")),
  );
  await page
    .locator(".notification-list-item", { hasText: "but no program exists there" })
    .locator("a", { hasText: "Open Settings" })
    .first()
    .click({ timeout: PATIENCE });
  await until("with the setting that names it", async () =>
    (await window.texts(".settings-editor .setting-item-contents")).some((text) => text.includes("Server: Path")),
  );
  await window.picture("settings");
  await until("which closes again", async () => {
    await page.keyboard.press("Escape");
    return (await page.locator(".settings-editor").count()) === 0;
  });
  fs.symlinkSync(fs.realpathSync(process.env.IVERSON_LSP), link);
  await window.command("Iverson: Restart Language Server");
  await until("and it runs again when it is there", async () => (await window.texts(".codelens-decoration")).length >= 3);
}

async function main() {
  const lsp = program("IVERSON_LSP");
  const vsix = program("IVERSON_VSIX", packaged());
  fs.mkdirSync(pictures, { recursive: true });
  const { chromium } = createRequire(path.join(installed, "x.js"))("playwright-core");
  let served;
  let browser;
  try {
    served = await serve(lsp, vsix);
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
    await page.goto(served.address);
    try {
      await test(new Window(page), served.again);
    } catch (error) {
      await page.screenshot({ path: path.join(pictures, "vscode-failed.png") }).catch(() => undefined);
      for (const told of await page.locator(".notification-list-item").allTextContents()) {
        console.error(`vscode: the window says: ${plain(told)}`);
      }
      console.error(`vscode: see ${path.join(pictures, "vscode-failed.png")} and ${work}`);
      throw error;
    }
    console.log(`vscode: all good${process.env.IVERSON_SCREENSHOTS ? `; pictures are in ${pictures}` : ""}`);
  } finally {
    await browser?.close();
    if (served?.server.pid !== undefined) {
      try {
        process.kill(-served.server.pid, "SIGTERM");
      } catch {
        // It has ended by itself.
      }
    }
  }
  fs.rmSync(work, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

main().catch((error) => {
  console.error(`vscode: ${error.message}`);
  process.exit(1);
});

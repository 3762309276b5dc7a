// Neovim screenshot: shows a program beside its adjoint. tmux runs Neovim with the language server
// that IVERSON_LSP names, and Chromium renders the screen of tmux as a PNG file:
//
//   editors/test/install.sh nvim vscode
//   IVERSON_LSP=target/debug/iverson-lsp node editors/test/nvim_picture.mjs PICTURE.png

import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as os from "node:os";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

const testFolder = path.dirname(fileURLToPath(import.meta.url));
const cache = path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache"), "iverson-editors");
const [picture] = process.argv.slice(2);
const lsp = process.env.IVERSON_LSP;
if (picture === undefined || lsp === undefined || !fs.existsSync(lsp)) {
  console.error("usage: IVERSON_LSP=SERVER node nvim_picture.mjs PICTURE.png");
  process.exit(2);
}
const COLUMNS = 160;
const LINES = 17;

/** Returns the CSS colour of entry `n` in the 256-colour palette of terminals. */
function paletteColour(n) {
  const basic = "000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff";
  if (n < 16) return `#${basic.split(" ")[n]}`;
  const level = (k) => (k === 0 ? 0 : 55 + 40 * k);
  const cube = n - 16;
  const grey = 8 + 10 * (n - 232);
  return n < 232
    ? `rgb(${level(Math.floor(cube / 36))},${level(Math.floor(cube / 6) % 6)},${level(cube % 6)})`
    : `rgb(${grey},${grey},${grey})`;
}

/** Converts the screen of a terminal, with its escape sequences, to an HTML document. */
function screenToHtml(screen) {
  let style = {};
  const escapeHtml = (text) => text.replace(/&/gu, "&amp;").replace(/</gu, "&lt;");
  const css = () => {
    const fg = style.fg ?? "#14161b";
    const bg = style.bg ?? "#e0e2ea";
    const [colour, background] = style.reverse ? [bg, fg] : [fg, bg];
    const decorations = `${style.bold ? "font-weight:bold;" : ""}${style.italic ? "font-style:italic;" : ""}${style.underline ? "text-decoration:underline;" : ""}`;
    return `color:${colour};background:${background};${decorations}`;
  };
  /** Applies the codes of one SGR escape sequence to the style. */
  const applyCodes = (codes) => {
    for (let k = 0; k < codes.length; k++) {
      const code = codes[k];
      /** Reads the colour that follows the current code. */
      const readColour = () => {
        if (codes[k + 1] === 2) {
          const [r, g, b] = codes.slice(k + 2, k + 5);
          k += 4;
          return `rgb(${r},${g},${b})`;
        }
        k += 2;
        return paletteColour(codes[k]);
      };
      if (code === 0) style = {};
      else if (code === 1) style.bold = true;
      else if (code === 3) style.italic = true;
      else if (code === 4) style.underline = true;
      else if (code === 7) style.reverse = true;
      else if (code === 22) style.bold = false;
      else if (code === 23) style.italic = false;
      else if (code === 24) style.underline = false;
      else if (code === 27) style.reverse = false;
      else if (code === 38) style.fg = readColour();
      else if (code === 48) style.bg = readColour();
      else if (code === 58) readColour();
      else if (code === 39) delete style.fg;
      else if (code === 49) delete style.bg;
      else if (code >= 30 && code <= 37) style.fg = paletteColour(code - 30);
      else if (code >= 40 && code <= 47) style.bg = paletteColour(code - 40);
      else if (code >= 90 && code <= 97) style.fg = paletteColour(code - 82);
    }
  };
  const html = screen.replace(/\n$/u, "").split("\n").map((line) =>
    line
      // eslint-disable-next-line no-control-regex
      .split(/(\u001b\[[0-9;:]*m)/u)
      .map((part) => {
        const codes = /^\u001b\[([0-9;:]*)m$/u.exec(part);
        if (codes === null) return part === "" ? "" : `<span style="${css()}">${escapeHtml(part)}</span>`;
        applyCodes(codes[1].split(/[;:]/u).map(Number));
        return "";
      })
      .join(""),
  );
  return `<body style="margin:0;background:#e0e2ea"><pre style="margin:0;padding:8px;display:inline-block;font:15px/1.3 'DejaVu Sans Mono',monospace">${html.join("\n")}</pre></body>`;
}

const work = fs.mkdtempSync(path.join(os.tmpdir(), "iverson-nvim-"));
const program = path.join(work, "program.iv");
fs.copyFileSync(path.join(testFolder, "program.iv"), program);
const socket = `iverson-${process.pid}`;
const tmux = (...args) => execFileSync("tmux", ["-L", socket, ...args], { encoding: "utf8" });
const shellQuote = (text) => `'${text.replace(/'/gu, "'\\''")}'`;
let browser;
try {
  const nvim = path.join(cache, "nvim", "bin", "nvim");
  const command = `cd ${shellQuote(work)} && IVERSON_LSP=${shellQuote(path.resolve(lsp))} IVERSON_PROGRAM=program.iv exec ${shellQuote(nvim)} --clean -u ${shellQuote(path.join(testFolder, "nvim_picture.lua"))}`;
  const config = path.join(work, "tmux.conf");
  fs.writeFileSync(config, 'set -g default-terminal "tmux-256color"\nset -ga terminal-overrides ",*:RGB"\nset -g status off\n');
  tmux("-f", config, "new-session", "-d", "-x", String(COLUMNS), "-y", String(LINES), command);
  let screen = "";
  for (let k = 0; k < 300 && !screen.includes("ready"); k++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    screen = tmux("capture-pane", "-p");
  }
  if (!screen.includes("ready")) throw new Error(`Neovim shows no adjoint beside the program:\n${screen}`);
  tmux("send-keys", ":", "BSpace");
  await new Promise((resolve) => setTimeout(resolve, 1000));
  screen = tmux("capture-pane", "-p", "-e", "-N");
  const { chromium } = createRequire(path.join(cache, "vscode", "node_modules", "x.js"))("playwright-core");
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  const page = await browser.newPage({ deviceScaleFactor: 1.5 });
  await page.setContent(screenToHtml(screen));
  await page.locator("pre").screenshot({ path: picture });
  console.log(`nvim: the screenshot is ${picture}`);
} catch (error) {
  console.error(`nvim: ${error.message}`);
  process.exitCode = 1;
} finally {
  await browser?.close();
  try {
    tmux("kill-server");
  } catch {
    // The tmux server exits on its own if Neovim exits.
  }
  fs.rmSync(work, { recursive: true, force: true });
}

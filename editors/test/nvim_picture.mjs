// A picture of Neovim with the adjoint beside the code, by tmux and Chromium, with the server that IVERSON_LSP names:
//
//   editors/test/install.sh nvim vscode
//   IVERSON_LSP=target/debug/iverson-lsp node editors/test/nvim_picture.mjs PICTURE.png

import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as os from "node:os";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const cache = path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache"), "iverson-editors");
const [picture] = process.argv.slice(2);
const lsp = process.env.IVERSON_LSP;
if (picture === undefined || lsp === undefined || !fs.existsSync(lsp)) {
  console.error("usage: IVERSON_LSP=SERVER node nvim_picture.mjs PICTURE.png");
  process.exit(2);
}
const COLUMNS = 160;
const LINES = 17;

/** The colours that a terminal numbers. */
function indexed(n) {
  const basic = "000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff";
  if (n < 16) return `#${basic.split(" ")[n]}`;
  const level = (k) => (k === 0 ? 0 : 55 + 40 * k);
  const cube = n - 16;
  const grey = 8 + 10 * (n - 232);
  return n < 232
    ? `rgb(${level(Math.floor(cube / 36))},${level(Math.floor(cube / 6) % 6)},${level(cube % 6)})`
    : `rgb(${grey},${grey},${grey})`;
}

/** Converts the content of a terminal to HTML. */
function page(screen) {
  let style = {};
  const escape = (text) => text.replace(/&/gu, "&amp;").replace(/</gu, "&lt;");
  const css = () => {
    const fg = style.fg ?? "#14161b";
    const bg = style.bg ?? "#e0e2ea";
    const [ink, paper] = style.reverse ? [bg, fg] : [fg, bg];
    const more = `${style.bold ? "font-weight:bold;" : ""}${style.italic ? "font-style:italic;" : ""}${style.under ? "text-decoration:underline;" : ""}`;
    return `color:${ink};background:${paper};${more}`;
  };
  const set = (codes) => {
    for (let k = 0; k < codes.length; k++) {
      const code = codes[k];
      const colour = () => {
        if (codes[k + 1] === 2) {
          const [r, g, b] = codes.slice(k + 2, k + 5);
          k += 4;
          return `rgb(${r},${g},${b})`;
        }
        k += 2;
        return indexed(codes[k]);
      };
      if (code === 0) style = {};
      else if (code === 1) style.bold = true;
      else if (code === 3) style.italic = true;
      else if (code === 4) style.under = true;
      else if (code === 7) style.reverse = true;
      else if (code === 22) style.bold = false;
      else if (code === 23) style.italic = false;
      else if (code === 24) style.under = false;
      else if (code === 27) style.reverse = false;
      else if (code === 38) style.fg = colour();
      else if (code === 48) style.bg = colour();
      else if (code === 58) colour();
      else if (code === 39) delete style.fg;
      else if (code === 49) delete style.bg;
      else if (code >= 30 && code <= 37) style.fg = indexed(code - 30);
      else if (code >= 40 && code <= 47) style.bg = indexed(code - 40);
      else if (code >= 90 && code <= 97) style.fg = indexed(code - 82);
    }
  };
  const html = screen.replace(/\n$/u, "").split("\n").map((line) =>
    line
      // eslint-disable-next-line no-control-regex
      .split(/(\u001b\[[0-9;:]*m)/u)
      .map((part) => {
        const codes = /^\u001b\[([0-9;:]*)m$/u.exec(part);
        if (codes === null) return part === "" ? "" : `<span style="${css()}">${escape(part)}</span>`;
        set(codes[1].split(/[;:]/u).map(Number));
        return "";
      })
      .join(""),
  );
  return `<body style="margin:0;background:#e0e2ea"><pre style="margin:0;padding:8px;display:inline-block;font:15px/1.3 'DejaVu Sans Mono',monospace">${html.join("\n")}</pre></body>`;
}

const work = fs.mkdtempSync(path.join(os.tmpdir(), "iverson-nvim-"));
const program = path.join(work, "program.iv");
fs.copyFileSync(path.join(here, "program.iv"), program);
const socket = `iverson-${process.pid}`;
const tmux = (...args) => execFileSync("tmux", ["-L", socket, ...args], { encoding: "utf8" });
const quote = (text) => `'${text.replace(/'/gu, "'\\''")}'`;
let browser;
try {
  const nvim = path.join(cache, "nvim", "bin", "nvim");
  const command = `cd ${quote(work)} && IVERSON_LSP=${quote(path.resolve(lsp))} IVERSON_PROGRAM=program.iv exec ${quote(nvim)} --clean -u ${quote(path.join(here, "nvim_picture.lua"))}`;
  const config = path.join(work, "tmux.conf");
  fs.writeFileSync(config, 'set -g default-terminal "tmux-256color"\nset -ga terminal-overrides ",*:RGB"\nset -g status off\n');
  tmux("-f", config, "new-session", "-d", "-x", String(COLUMNS), "-y", String(LINES), command);
  let screen = "";
  for (let k = 0; k < 300 && !screen.includes("ready"); k++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    screen = tmux("capture-pane", "-p");
  }
  if (!screen.includes("ready")) throw new Error(`no adjoint beside the code:\n${screen}`);
  tmux("send-keys", ":", "BSpace");
  await new Promise((resolve) => setTimeout(resolve, 1000));
  screen = tmux("capture-pane", "-p", "-e", "-N");
  const { chromium } = createRequire(path.join(cache, "vscode", "node_modules", "x.js"))("playwright-core");
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  const drawn = await browser.newPage({ deviceScaleFactor: 1.5 });
  await drawn.setContent(page(screen));
  await drawn.locator("pre").screenshot({ path: picture });
  console.log(`nvim: the picture is ${picture}`);
} catch (error) {
  console.error(`nvim: ${error.message}`);
  process.exitCode = 1;
} finally {
  await browser?.close();
  try {
    tmux("kill-server");
  } catch {
    // It has ended by itself.
  }
  fs.rmSync(work, { recursive: true, force: true });
}

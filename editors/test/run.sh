#!/usr/bin/env bash
# Runs the tests in real editors with the server of IVERSON_LSP, and installs missing programs:
#
#   IVERSON_LSP=target/debug/iverson-lsp editors/test/run.sh [grammar] [nvim] [nvim07] [emacs] [kakoune] [vscode]
#
# Without a name it runs all. IVERSON_SCREENSHOTS is a folder for pictures of VS Code and Neovim.
#
#   IVERSON_LSP=target/debug/iverson-lsp editors/test/run.sh pictures
#
# renews the pictures of README and book, docs/book/src/editors/*.png, if VS Code's test passes.
set -euo pipefail
# Failures inside $(…) propagate.
shopt -s inherit_errexit
: "${IVERSON_LSP:?has to name the program of the server}"
# Tests change folders, so paths are absolute.
IVERSON_LSP="$(realpath "$IVERSON_LSP")"
export IVERSON_LSP
if [ -n "${IVERSON_SCREENSHOTS:-}" ]; then
  mkdir -p "$IVERSON_SCREENSHOTS"
  IVERSON_SCREENSHOTS="$(realpath "$IVERSON_SCREENSHOTS")"
  export IVERSON_SCREENSHOTS
fi
cd "$(dirname "$0")"
exec </dev/null
cache="${XDG_CACHE_HOME:-$HOME/.cache}/iverson-editors"

# Runs a command with a Node that can build the extension.
with_node() {
  if [ "$(node -p 'parseInt(process.versions.node)')" -ge 20 ]; then
    "$@"
  else
    PATH="$cache/node/node_modules/node/bin:$PATH" "$@"
  fi
}

# Installs the npm packages of the extension in the cache, because the checkout must stay clean.
extension() {
  local copy="$cache/extension"
  mkdir -p "$copy"
  if ! cmp -s ../vscode/package-lock.json "$copy/installed.json"; then
    rm -rf "$copy/node_modules"
    cp ../vscode/package.json ../vscode/package-lock.json "$copy/"
    (cd "$copy" && with_node npm ci --ignore-scripts --no-audit --no-fund) >"$cache/npm.log" 2>&1 ||
      { { tail -20 "$cache/npm.log"; echo "editors: npm cannot install what the extension is made with"; } >&2; return 1; }
    cp ../vscode/package-lock.json "$copy/installed.json"
  fi
  # Copies the current state of all other files.
  find "$copy" -mindepth 1 -maxdepth 1 ! -name node_modules ! -name installed.json -exec rm -rf {} +
  (cd ../vscode && tar --exclude=./node_modules --exclude=./dist --exclude='./*.vsix' -cf - .) | tar -xf - -C "$copy"
  echo "$copy"
}

# No test needs a display; each has its own time limit.
run_grammar() {
  ./install.sh npm
  local copy
  copy="$(extension)"
  (cd "$copy" && with_node timeout 120 npm test --silent)
}
run_nvim() {
  ./install.sh nvim
  timeout 180 "$cache/nvim/bin/nvim" --clean -l nvim.lua
  # Opens a program by its name as a user does, with the plugin as the Neovim page describes.
  PATH="$(dirname "$IVERSON_LSP"):$PATH" timeout 60 "$cache/nvim/bin/nvim" --headless --clean \
    --cmd "lua vim.opt.runtimepath:append('$(realpath ../nvim)')" -S nvim_argument.lua program.iv
}
run_nvim07() {
  ./install.sh nvim07
  timeout 180 /usr/bin/nvim --headless --clean -u NONE -S nvim07.lua
}
run_emacs() {
  ./install.sh emacs
  timeout 180 emacs --batch -q -l emacs.el
}
run_kakoune() {
  ./install.sh kakoune
  PATH="$cache/kakoune/bin:$PATH" timeout 180 ./kakoune.sh
}
run_vscode() {
  ./install.sh vscode
  local copy
  copy="$(extension)"
  (cd "$copy" && with_node npm run --silent package >package.log 2>&1) || { cat "$copy/package.log"; return 1; }
  IVERSON_VSIX="$(ls "$copy"/iverson-*.vsix)" with_node timeout 600 node vscode.mjs
  if [ -n "${IVERSON_SCREENSHOTS:-}" ]; then
    ./install.sh nvim tmux
    with_node timeout 120 node nvim_picture.mjs "$IVERSON_SCREENSHOTS/nvim-adjoint.png"
  fi
}
# Copies the pictures that pages show.
run_pictures() {
  local taken book=../../docs/book/src/editors picture
  taken="$(mktemp -d)"
  IVERSON_SCREENSHOTS="$taken" run_vscode
  for picture in "$book"/*.png; do
    cp "$taken/$(basename "$picture")" "$picture"
  done
  rm -rf "$taken"
  ls "$book"/*.png
}

[ $# -gt 0 ] || set -- grammar nvim nvim07 emacs kakoune vscode
for editor in "$@"; do
  case "$editor" in
    grammar | nvim | nvim07 | emacs | kakoune | vscode | pictures)
      printf '\n-- %s\n' "$editor"
      "run_$editor"
      ;;
    *)
      echo "unknown: $editor"
      exit 2
      ;;
  esac
done

#!/usr/bin/env bash
# Runs the tests in real editors with the server that IVERSON_LSP names, installing what is missing:
#
#   IVERSON_LSP=target/debug/iverson-lsp editors/test/run.sh [grammar] [nvim] [nvim07] [emacs] [vscode]
#
# All of them where none is named. IVERSON_SCREENSHOTS is a folder for pictures of VS Code and Neovim.
set -euo pipefail
: "${IVERSON_LSP:?has to name the program of the server}"
# Tests change folders.
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

# What npm wants of the extension, in the cache: the checkout stays as it is.
extension() {
  local copy="$cache/extension"
  mkdir -p "$copy"
  if ! cmp -s ../vscode/package-lock.json "$copy/installed.json"; then
    rm -rf "$copy/node_modules"
    cp ../vscode/package.json ../vscode/package-lock.json "$copy/"
    (cd "$copy" && npm ci --silent --ignore-scripts --no-audit --no-fund)
    cp ../vscode/package-lock.json "$copy/installed.json"
  fi
  # The rest as it is now.
  find "$copy" -mindepth 1 -maxdepth 1 ! -name node_modules ! -name installed.json -exec rm -rf {} +
  (cd ../vscode && tar --exclude=./node_modules --exclude=./dist --exclude='./*.vsix' -cf - .) | tar -xf - -C "$copy"
  echo "$copy"
}

# A display is wanted by none of them; each has its own time.
run_grammar() { (cd "$(extension)" && timeout 120 npm test --silent); }
run_nvim() {
  ./install.sh nvim
  timeout 180 "$cache/nvim/bin/nvim" --clean -l nvim.lua
}
run_nvim07() {
  ./install.sh nvim07
  timeout 180 /usr/bin/nvim --headless --clean -u NONE -S nvim07.lua
}
run_emacs() {
  ./install.sh emacs
  timeout 180 emacs --batch -q -l emacs.el
}
run_vscode() {
  ./install.sh vscode
  local copy
  copy="$(extension)"
  (cd "$copy" && npm run --silent package >package.log 2>&1) || { cat "$copy/package.log"; return 1; }
  IVERSON_VSIX="$(ls "$copy"/iverson-*.vsix)" timeout 600 node vscode.mjs
  if [ -n "${IVERSON_SCREENSHOTS:-}" ]; then
    ./install.sh nvim
    timeout 120 node nvim_picture.mjs "$IVERSON_SCREENSHOTS/nvim-adjoint.png"
  fi
}

[ $# -gt 0 ] || set -- grammar nvim nvim07 emacs vscode
for editor in "$@"; do
  case "$editor" in
    grammar | nvim | nvim07 | emacs | vscode)
      printf '\n-- %s\n' "$editor"
      "run_$editor"
      ;;
    *)
      echo "unknown: $editor"
      exit 2
      ;;
  esac
done

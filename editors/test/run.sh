#!/usr/bin/env bash
# Editor tests: run real editors with the language server that IVERSON_LSP names:
#
#   IVERSON_LSP=target/debug/iverson-lsp editors/test/run.sh \
#     [grammar] [nvim] [nvim07] [emacs] [kakoune] [vscode]
#
# Without arguments, the script runs all tests. It installs missing programs first. The variable
# IVERSON_SCREENSHOTS names an optional folder for screenshots of VS Code and Neovim.
#
#   IVERSON_LSP=target/debug/iverson-lsp editors/test/run.sh pictures
#
# The argument `pictures` runs the VS Code test. If the test passes, new screenshots replace
# docs/book/src/editors/*.png, which the README and the book show.
set -euo pipefail
# Command substitutions inherit `set -e`, because a failure inside $(…) must end the script.
shopt -s inherit_errexit
: "${IVERSON_LSP:?must name the executable of the language server}"
# Paths must be absolute, because the tests change the working directory.
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

# Runs a command with Node 20 or later, because the build of the extension requires it.
with_node() {
  if [ "$(node -p 'parseInt(process.versions.node)')" -ge 20 ]; then
    "$@"
  else
    PATH="$cache/node/node_modules/node/bin:$PATH" "$@"
  fi
}

# Copies the extension to the cache, installs its npm packages there, and prints the folder. The
# checkout must stay clean.
prepare_extension() {
  local copy="$cache/extension"
  mkdir -p "$copy"
  if ! cmp -s ../vscode/package-lock.json "$copy/installed.json"; then
    rm -rf "$copy/node_modules"
    cp ../vscode/package.json ../vscode/package-lock.json "$copy/"
    (cd "$copy" && with_node npm ci --ignore-scripts --no-audit --no-fund) >"$cache/npm.log" 2>&1 ||
      { { tail -20 "$cache/npm.log"; echo "editors: npm cannot install the packages of the extension"; } >&2; return 1; }
    cp ../vscode/package-lock.json "$copy/installed.json"
  fi
  # Replaces all other files by their current versions.
  find "$copy" -mindepth 1 -maxdepth 1 ! -name node_modules ! -name installed.json -exec rm -rf {} +
  (cd ../vscode && tar --exclude=./node_modules --exclude=./dist --exclude='./*.vsix' -cf - .) | tar -xf - -C "$copy"
  echo "$copy"
}

# Tests run without a display. Each test has its own time limit.
run_grammar() {
  ./install.sh npm
  local copy
  copy="$(prepare_extension)"
  (cd "$copy" && with_node timeout 120 npm test --silent)
}
run_nvim() {
  ./install.sh nvim
  timeout 180 "$cache/nvim/bin/nvim" --clean -l nvim.lua
  # Command-line test: opens a program by its name, with the plugin set up as on the Neovim page.
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
  copy="$(prepare_extension)"
  (cd "$copy" && with_node npm run --silent package >package.log 2>&1) || { cat "$copy/package.log"; return 1; }
  IVERSON_VSIX="$(ls "$copy"/iverson-*.vsix)" with_node timeout 600 node vscode.mjs
  if [ -n "${IVERSON_SCREENSHOTS:-}" ]; then
    ./install.sh nvim tmux
    with_node timeout 120 node nvim_picture.mjs "$IVERSON_SCREENSHOTS/nvim-adjoint.png"
  fi
}
# Replaces the screenshots of the book by new ones.
run_pictures() {
  local screenshots book=../../docs/book/src/editors picture
  screenshots="$(mktemp -d)"
  IVERSON_SCREENSHOTS="$screenshots" run_vscode
  for picture in "$book"/*.png; do
    cp "$screenshots/$(basename "$picture")" "$picture"
  done
  rm -rf "$screenshots"
  ls "$book"/*.png
}

[ $# -gt 0 ] || set -- grammar nvim nvim07 emacs kakoune vscode
for name in "$@"; do
  case "$name" in
    grammar | nvim | nvim07 | emacs | kakoune | vscode | pictures)
      printf '\n-- %s\n' "$name"
      "run_$name"
      ;;
    *)
      echo "editors: unknown test: $name"
      exit 2
      ;;
  esac
done

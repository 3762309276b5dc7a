#!/usr/bin/env bash
# Tests Kakoune with kakoune-lsp, as on the book's page, with the server of IVERSON_LSP:
#
#   IVERSON_LSP=target/debug/iverson-lsp editors/test/kakoune.sh
#
# `kak` and `kak-lsp` must be on the PATH; no terminal is necessary.
set -euo pipefail
: "${IVERSON_LSP:?has to name the program of the server}"
here="$(cd "$(dirname "$0")" && pwd)"
server="$(realpath "$IVERSON_LSP")"
page="$here/../../docs/book/src/editors/kakoune.md"
folder="$(mktemp -d)"
session="iverson-$$"
name="kakoune"

finish() {
  kak -p "$session" <<<'kill!' 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT

# Prints the nth block of code of the page.
block() { awk -v wanted="$1" '/^```$/ { inside = 0 } inside && nth == wanted { print } /^```text$/ { nth++; inside = 1 }' "$page"; }

fail() { echo "$name: FAILED: $1${2:+: $2}" >&2; exit 1; }
good() { echo "$name: ok: $1"; }

# Makes the client run a command.
does() { printf 'evaluate-commands -client client0 %%{ %s }\n' "$1" | kak -p "$session"; }

# Evaluates an expression of Kakoune in the client.
value() {
  rm -f "$folder/told"
  does "echo -to-file $folder/told -- $1"
  local tries=0
  until [ -s "$folder/told" ] || [ "$tries" -ge 40 ]; do
    sleep 0.05
    tries=$((tries + 1))
  done
  cat "$folder/told" 2>/dev/null || true
}

# Waits until the value of an expression matches a shell pattern.
wait_for() {
  local tries=0 found
  while :; do
    found="$(value "$2")"
    # shellcheck disable=SC2053 # it is a pattern
    [[ "$found" == $3 ]] && break
    tries=$((tries + 1))
    [ "$tries" -lt 150 ] || fail "$1" "$found"
    sleep 0.1
  done
  good "$1"
}

mkdir -p "$folder/config/kak" "$folder/program/.git" "$folder/bin" "$folder/run"
ln -s "$server" "$folder/bin/iverson-lsp"
cp "$here/program.iv" "$folder/program/"
export XDG_CONFIG_HOME="$folder/config" XDG_RUNTIME_DIR="$folder/run" PATH="$folder/bin:$PATH"
{
  block 1 | sed "s,/path/to/iverson,$here/../..,"
  block 2
} >"$folder/config/kak/kakrc"
cd "$folder/program"
kak -s "$session" -ui dummy program.iv >"$folder/log" 2>&1 &
tries=0
until kak -l | grep -q "^$session\$"; do
  sleep 0.1
  tries=$((tries + 1))
  [ "$tries" -lt 100 ] || fail "Kakoune starts" "$(cat "$folder/log")"
done
wait_for "a .iv file is a program" '%opt{filetype}' 'iverson'
wait_for "it has lenses" '%opt{lsp_inlay_code_lenses}' '*run*'
wait_for "and inlay hints" '%opt{lsp_inlay_hints}' '*<*n*'
wait_for "a good program has no diagnostics" '%opt{lsp_diagnostic_error_count}' '0'
does "execute-keys '<percent>s= conv\\(x, c\\)<ret>c= unknown(x, c)<esc>'"
wait_for "an unknown name is told" '%opt{lsp_diagnostic_error_count}' '1'
does 'execute-keys u'
wait_for "and no more when it is mended" '%opt{lsp_diagnostic_error_count}' '0'
does "execute-keys '<percent>s= conv\\(x, c\\)<ret>;hhhhhhhh'"
does 'lsp-definition'
wait_for "a use leads to its definition" '%val{cursor_line}' '2'
does 'lsp-hover-buffer'
wait_for "a hover opens" '%val{bufname}' '*hover*'
does 'execute-keys <percent>'
wait_for "and tells of the definition" '%val{selection}' '*def conv(*'
echo "$name: all good"

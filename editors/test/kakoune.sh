#!/usr/bin/env bash
# Kakoune test: runs kakoune-lsp with the configuration of the book's page on Kakoune, and with the
# language server that IVERSON_LSP names:
#
#   IVERSON_LSP=target/debug/iverson-lsp editors/test/kakoune.sh
#
# The programs `kak` and `kak-lsp` must be on the PATH. The test needs no terminal.
set -euo pipefail
: "${IVERSON_LSP:?must name the executable of the language server}"
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

# Prints the nth code block of the page.
code_block() { awk -v wanted="$1" '/^```$/ { inside = 0 } inside && nth == wanted { print } /^```text$/ { nth++; inside = 1 }' "$page"; }

fail() { echo "$name: FAILED: $1${2:+: $2}" >&2; exit 1; }
pass() { echo "$name: ok: $1"; }

# Runs a Kakoune command in the client.
run_command() { printf 'evaluate-commands -client client0 %%{ %s }\n' "$1" | kak -p "$session"; }

# Prints the value of a Kakoune expansion, such as `%opt{filetype}`, in the client.
expand_in_client() {
  rm -f "$folder/value"
  run_command "echo -to-file $folder/value -- $1"
  local tries=0
  until [ -s "$folder/value" ] || [ "$tries" -ge 40 ]; do
    sleep 0.05
    tries=$((tries + 1))
  done
  cat "$folder/value" 2>/dev/null || true
}

# Waits until the value of an expansion matches a shell pattern. Arguments: the message of the
# check, the expansion, the pattern.
wait_for() {
  local tries=0 value
  while :; do
    value="$(expand_in_client "$2")"
    # shellcheck disable=SC2053 # The right-hand side is a pattern.
    [[ "$value" == $3 ]] && break
    tries=$((tries + 1))
    [ "$tries" -lt 150 ] || fail "$1" "$value"
    sleep 0.1
  done
  pass "$1"
}

mkdir -p "$folder/config/kak" "$folder/program/.git" "$folder/bin" "$folder/run"
ln -s "$server" "$folder/bin/iverson-lsp"
cp "$here/program.iv" "$folder/program/"
export XDG_CONFIG_HOME="$folder/config" XDG_RUNTIME_DIR="$folder/run" PATH="$folder/bin:$PATH"
{
  code_block 1 | sed "s,/path/to/iverson,$here/../..,"
  code_block 2
} >"$folder/config/kak/kakrc"
cd "$folder/program"
kak -s "$session" -ui dummy program.iv >"$folder/log" 2>&1 &
tries=0
until kak -l | grep -q "^$session\$"; do
  sleep 0.1
  tries=$((tries + 1))
  [ "$tries" -lt 100 ] || fail "Kakoune starts a session" "$(cat "$folder/log")"
done
wait_for "a .iv file has the filetype iverson" '%opt{filetype}' 'iverson'
wait_for 'a definition has the lens "run"' '%opt{lsp_inlay_code_lenses}' '*run*'
wait_for "an inlay hint shows an inferred range" '%opt{lsp_inlay_hints}' '*<*n*'
wait_for "a correct program has no errors" '%opt{lsp_diagnostic_error_count}' '0'
run_command "execute-keys '<percent>s= conv\\(x, c\\)<ret>c= unknown(x, c)<esc>'"
wait_for "an unknown name causes one error" '%opt{lsp_diagnostic_error_count}' '1'
run_command 'execute-keys u'
wait_for "a corrected program has no errors" '%opt{lsp_diagnostic_error_count}' '0'
run_command "execute-keys '<percent>s= conv\\(x, c\\)<ret>;hhhhhhhh'"
run_command 'lsp-definition'
wait_for "the command lsp-definition moves the cursor from a call to its definition" '%val{cursor_line}' '2'
run_command 'lsp-hover-buffer'
wait_for "the command lsp-hover-buffer opens the hover buffer" '%val{bufname}' '*hover*'
run_command 'execute-keys <percent>'
wait_for "the hover of a definition contains its signature" '%val{selection}' '*def conv(*'
echo "$name: all checks passed"

#!/bin/bash
# function commented() {
set -euo pipefail

usage() {
  cat <<EOF
in_text() {
EOF
}

function build {
  local n=$#
  inner() { :; }
}

function deploy-it() {
  echo "in_string() {"
}

log() { printf '%s\n' "it's $*"; }

text='
quoted() {
'
main "$@"

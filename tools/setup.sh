#!/usr/bin/env bash
# Makes a fresh machine ready to build Huddle: Debian packages, then a Python environment in .venv whose torch package is the
# libtorch that Huddle links. Run by `make`; may be run by hand. When everything is there it takes some milliseconds.
set -euo pipefail
cd "$(dirname "$0")/.."

# The two lists that decide what a build machine needs.
packages=(cmake ninja-build g++ ccache python3-venv libcli11-dev libfmt-dev nlohmann-json3-dev libgtest-dev
  libbenchmark-dev libtomlplusplus-dev libsimgrid-dev libucx-dev libopenmpi-dev openmpi-bin libjs-chart.js)
# torch is pinned exactly: a looser requirement would let pip take a later build that brings gigabytes of CUDA with it.
requirements=(torch==2.13.0 numpy)

stamp=.venv/huddle-ready

say() { printf '[huddle] %s\n' "$*"; }

fail() {
  printf '[huddle] %s\n' "$@" >&2
  exit 1
}

# Prints those of the packages that are not installed. dpkg-query fails when it does not know one: that one is missing too.
missing_packages() {
  local installed
  installed=$(dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
  for package in "${packages[@]}"; do
    grep -qx "$package installed" <<<"$installed" || echo "$package"
  done
}

install_packages() {
  local missing root=() apt_get log
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0

  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || fail "Debian packages are missing, and this user may not install them. Run this, then try again:" \
      "  sudo apt-get update && sudo apt-get install --no-install-recommends ${missing[*]}"
    root=(sudo -n)
  fi
  apt_get=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
  log=$(mktemp)
  say "installing Debian packages (a minute or two): ${missing[*]} ..."
  if ! { "${apt_get[@]}" update && "${apt_get[@]}" install --yes --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    fail "apt-get failed (above: its last lines, all of it: $log). Mend that, or build with what is there:" \
      "  make build PYTHON=/path/to/a/python/that/has/torch"
  fi
  rm -f "$log"
  # What CMake did not find before may be there now.
  rm -f build*/huddle-configured
}

# Elsewhere than on Debian the tools must be there; CMake looks for the libraries and names what it leaves out.
require_tools() {
  for tool in cmake c++ python3; do
    command -v "$tool" >/dev/null || fail "'$tool' is missing, and this system has no apt to install it with. Install it, then try again."
  done
}

# A Python that can make environments. A machine may have several, and Debian's own lacks ensurepip without python3-venv.
venv_python() {
  for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  fail "no Python from 3.10 on with the modules venv and ensurepip was found (tried python3, /usr/bin/python3)." \
    "Install one, or pass a Python that has torch: make build PYTHON=/path/to/python"
}

# True when .venv holds what is asked for; the stamp is written last, so half an installation never counts.
venv_is_ready() {
  [ "$(cat "$stamp" 2>/dev/null)" = "${requirements[*]}" ] && .venv/bin/python -c '' 2>/dev/null
}

make_venv() {
  local python started=$SECONDS
  venv_is_ready && return 0
  python=$(venv_python)
  say "making .venv with $("$python" --version) ..."
  "$python" -m venv --clear .venv || fail "'$python -m venv --clear .venv' failed; see above."
  say "installing ${requirements[*]} into .venv (some 200 MB, a minute or more) ..."
  # Wheels only: nothing is ever compiled here.
  .venv/bin/python -m pip install --quiet --quiet --disable-pip-version-check --no-input --only-binary :all: "${requirements[@]}" ||
    fail "pip could not install ${requirements[*]}; see above. The next 'make' tries again." \
      "Or pass a Python that has torch: make build PYTHON=/path/to/python"
  .venv/bin/python -c 'import torch' || fail "the torch in .venv cannot be imported; see above. The next 'make' makes .venv anew."
  echo "${requirements[*]}" >"$stamp"
  say "the Python environment is ready ($((SECONDS - started)) s)"
}

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
  install_packages
else
  require_tools
fi
make_venv

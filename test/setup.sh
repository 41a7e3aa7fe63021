#!/usr/bin/env bash
# Makes sure that the machine has what the tests need besides Go and git. On
# Debian and Ubuntu missing packages are installed; elsewhere they are named
# and the exit status is 1. Asks nothing and reads no input.
set -euo pipefail

missing_tools=()
missing_packages=()

need() { # need <what it is> <Debian package>...
	missing_tools+=("$1")
	shift
	missing_packages+=("$@")
}

# The same places as worker/localpg: PATH, then the distributions' folders.
has_postgresql() {
	local server
	for server in "$(command -v postgres || true)" /usr/lib/postgresql/*/bin/postgres /usr/pgsql-*/bin/postgres \
		/usr/libexec/postgresql*/postgres /opt/homebrew/opt/postgresql*/bin/postgres /usr/local/opt/postgresql*/bin/postgres \
		/Applications/Postgres.app/Contents/Versions/*/bin/postgres; do
		[ -x "$server" ] || continue
		[ "$("$server" --version | sed -E 's/.*\) ([0-9]+).*/\1/')" -ge 15 ] && return 0
	done
	return 1
}

# Debian keeps pgbouncer in /usr/sbin, which is not in everybody's PATH.
has() { PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v "$1" >/dev/null; }

look() {
	missing_tools=()
	missing_packages=()
	has git || need git git
	has make || need make make
	has cc || has gcc || need "a C compiler (for the race detector)" gcc libc6-dev
	has_postgresql || need "PostgreSQL 15 or newer (server)" postgresql
	has pgbouncer || need PgBouncer pgbouncer
	[ "${#missing_tools[@]}" -eq 0 ]
}

# as_root prints the prefix for commands that need root, or fails.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		return 0
	elif [ -t 0 ] && has sudo; then
		echo sudo
	elif has sudo && sudo -n true 2>/dev/null; then
		echo "sudo -n"
	else
		return 1
	fi
}

install_packages() {
	local prefix
	has apt-get || return 1
	prefix="$(as_root)" || return 1
	echo "setup: installing ${missing_packages[*]}"
	# shellcheck disable=SC2086 # the prefix is one or more words, or none
	$prefix env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null >/dev/null
	# shellcheck disable=SC2086
	$prefix env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing_packages[@]}" </dev/null
}

name_what_is_missing() {
	echo "setup: missing on this machine:"
	printf '  - %s\n' "${missing_tools[@]}"
	echo "Debian/Ubuntu: apt-get install ${missing_packages[*]}   (as root, or with sudo: make test does it itself)"
	echo "Fedora/RHEL:   dnf install postgresql-server pgbouncer gcc git make"
	echo "macOS:         brew install postgresql@17 pgbouncer, and xcode-select --install"
}

if ! has go; then
	echo "setup: Go is missing; install the version that go.mod names, or newer" >&2
	exit 1
fi
if look; then
	exit 0
fi
if ! install_packages || ! look; then
	name_what_is_missing >&2
	exit 1
fi

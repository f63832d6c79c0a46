#!/bin/sh
# usage: PREFIX=/usr/local [DESTDIR=ROOT] [SERVICE=systemd|launchd|none] packaging/install.sh install BIN PAGES
#        PREFIX=/usr/local [DESTDIR=ROOT] packaging/install.sh uninstall
#
# Installs collet and the plugins of BIN, and the PAGES that host/cmd/pages wrote, below DESTDIR/PREFIX. What was
# installed is listed in PREFIX/share/collet/installed, by which it is removed again, also by a later version. A line of
# it that ends with a slash is a directory that was made for a file, and is removed when nothing is left in it.
set -eu

die() { echo "install.sh: $*" >&2; exit 1; }
case ${PREFIX:-} in /*) ;; *) die "PREFIX is '${PREFIX:-}': it has to be an absolute path" ;; esac
prefix=${PREFIX%/} root=${DESTDIR:-}
list=$root$prefix/share/collet/installed
here=$(cd "$(dirname "$0")" && pwd)

# room DIR: makes the directory below the prefix, and notes each one that was not there.
room() {
	[ ! -d "$root$prefix/$1" ] || return 0
	case $1 in */*) room "${1%/*}" ;; esac
	mkdir -p "$root$prefix/$1"
	printf '%s/\n' "$1" >>"$new"
}

# put MODE FILE PLACE: the file below the prefix, replaced at once, also while it is running.
put() {
	target=$root$prefix/$3
	room "${3%/*}"
	rm -f "$target.new" && cp "$2" "$target.new" && chmod "$1" "$target.new" && mv -f "$target.new" "$target"
	printf '%s\n' "$3" >>"$new"
}

# fill FILE: a service's file with the place of collet in it.
fill() { sed "s|@BINDIR@|$prefix/bin|g" "$1" >"$work/filled"; }

# inside PLACE: a line of the list leads nowhere else.
inside() { case /$1/ in */../*) die "$list names $1" ;; esac }

install() {
	bin=$1 pages=$2
	for p in collet collet-attest; do
		[ -x "$bin/$p" ] || die "there is no $bin/$p: run make build"
	done
	[ -f "$pages/man/man1/collet.1" ] || die "there are no manual pages in $pages: run make pages"
	case $prefix in *[\"\'\&\|\\%\$\`\<\>]*) die "PREFIX '$prefix' has characters that a service's file cannot hold" ;; esac
	work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
	new=$work/installed && : >"$new"

	put 755 "$bin/collet" bin/collet
	put 755 "$bin/collet-attest" bin/collet-attest
	for p in "$bin"/collet-plugin-*; do
		name=$(basename "$p")
		[ "$name" = collet-plugin-hello ] || put 755 "$p" "bin/$name" # hello is an example
	done
	for p in "$pages"/man/man1/*.1; do put 644 "$p" "share/man/man1/$(basename "$p")"; done
	put 644 "$pages/completions/collet.bash" share/bash-completion/completions/collet
	put 644 "$pages/completions/_collet" share/zsh/site-functions/_collet
	put 644 "$pages/completions/collet.fish" share/fish/vendor_completions.d/collet.fish
	case ${SERVICE:=$(case $(uname -s) in Linux) echo systemd ;; Darwin) echo launchd ;; *) echo none ;; esac)} in
	systemd) fill "$here/systemd/collet.service" && put 644 "$work/filled" share/systemd/user/collet.service ;;
	launchd) fill "$here/launchd/dev.collet.serve.plist" && put 644 "$work/filled" share/collet/dev.collet.serve.plist ;;
	none) ;;
	*) die "SERVICE is '$SERVICE': it is one of systemd, launchd, none" ;;
	esac
	room share/collet

	# What an earlier version installed and this one does not have goes. The directories that it made are ours still.
	[ ! -f "$list" ] || while IFS= read -r place; do
		inside "$place"
		grep -qxF "$place" "$new" || case $place in
		*/) printf '%s\n' "$place" >>"$new" ;;
		*) rm -f "$root$prefix/$place" ;;
		esac
	done <"$list"
	put 644 "$new" share/collet/installed
	echo "installed $(grep -vc '/$' "$list") files below $root$prefix"
}

uninstall() {
	[ -f "$list" ] || die "there is no $list: nothing was installed there, or by other means"
	while IFS= read -r place; do
		inside "$place"
		case $place in */) ;; *) rm -f "$root$prefix/$place" ;; esac
	done <"$list"
	made=$(grep '/$' "$list" | sort -r) || :
	rm -f "$list"
	# The deepest first; what others have put files into stays. Lists of earlier versions name no directories.
	printf '%s\nshare/collet/\n' "$made" | while IFS= read -r place; do
		[ -z "$place" ] || rmdir "$root$prefix/$place" 2>/dev/null || :
	done
	echo "removed collet from $root$prefix; what it keeps for you is in ~/.config/collet, ~/.local/state/collet, ~/.local/share/collet and ~/.cache/collet"
}

case ${1:-}:$# in
install:3) install "$2" "$3" ;;
uninstall:1) uninstall ;;
*) die "usage: install.sh install BIN PAGES | uninstall" ;;
esac

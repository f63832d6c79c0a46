#!/bin/sh
# usage: PREFIX=/usr/local [DESTDIR=ROOT] [SERVICE=systemd|launchd|none] packaging/install.sh install BIN PAGES
#        PREFIX=/usr/local [DESTDIR=ROOT] packaging/install.sh uninstall
#
# Installs collet and the plugins of BIN, and the PAGES that host/cmd/pages wrote, below DESTDIR/PREFIX. What was
# installed is listed in PREFIX/share/collet/installed, by which it is removed again, also by a later version.
set -eu

die() { echo "install.sh: $*" >&2; exit 1; }
case ${PREFIX:-} in /*) ;; *) die "PREFIX is '${PREFIX:-}': it has to be an absolute path" ;; esac
prefix=${PREFIX%/} root=${DESTDIR:-}
list=$root$prefix/share/collet/installed
here=$(cd "$(dirname "$0")" && pwd)

# put MODE FILE PLACE: the file below the prefix, replaced at once, also while it is running.
put() {
	target=$root$prefix/$3
	mkdir -p "$(dirname "$target")"
	rm -f "$target.new" && cp "$2" "$target.new" && chmod "$1" "$target.new" && mv -f "$target.new" "$target"
	printf '%s\n' "$3" >>"$new"
}

# fill FILE: a service's file with the place of collet in it.
fill() { sed "s|@BINDIR@|$prefix/bin|g" "$1" >"$work/filled"; }

install() {
	bin=$1 pages=$2
	[ -x "$bin/collet" ] || die "there is no $bin/collet: run make build"
	[ -f "$pages/man/man1/collet.1" ] || die "there are no manual pages in $pages: run make pages"
	case $prefix in *[\"\&\|\\%\$\`]*) die "PREFIX '$prefix' has characters that a service's file cannot hold" ;; esac
	work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
	new=$work/installed && : >"$new"

	put 755 "$bin/collet" bin/collet
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

	# What an earlier version installed and this one does not have goes.
	[ ! -f "$list" ] || while IFS= read -r place; do
		grep -qxF "$place" "$new" || rm -f "$root$prefix/$place"
	done <"$list"
	put 644 "$new" share/collet/installed
	echo "installed $(wc -l <"$list" | tr -d ' ') files below $root$prefix"
}

uninstall() {
	[ -f "$list" ] || die "there is no $list: nothing was installed there, or by other means"
	while IFS= read -r place; do
		case /$place/ in */../*) die "$list names $place" ;; esac
		rm -f "$root$prefix/$place"
	done <"$list"
	rm -f "$list"
	rmdir "$root$prefix/share/collet" 2>/dev/null || :
	echo "removed collet from $root$prefix; what it keeps for you is in ~/.config/collet, ~/.local/state/collet and ~/.cache/collet"
}

case ${1:-}:$# in
install:3) install "$2" "$3" ;;
uninstall:1) uninstall ;;
*) die "usage: install.sh install BIN PAGES | uninstall" ;;
esac

#!/bin/sh
# Starts the lcm of this machine for a plugin: the program itself is not part of it.
lcm=$(command -v lcm) || {
	missing='lcm is not installed: npm install -g @lossless-context/lcm'
	case $1 in
	hook) case $(cat) in *'"SessionStart"'*) printf '{"systemMessage":"%s"}\n' "$missing" ;; esac ;;
	status) echo "$missing" ;;
	*) echo "$missing" >&2 && exit 1 ;;
	esac
	exit 0
}
# The command that npm installs starts Node.js first: take the program that it starts.
at=$(readlink -f "$lcm")
case $at in
*/lcm.js)
	for program in "${at%/bin/lcm.js}"/node_modules/@lossless-context/lcm-*/bin/lcm "${at%/lcm/bin/lcm.js}"/lcm-*/bin/lcm; do
		if [ -x "$program" ]; then lcm=$program; fi
	done
	;;
esac
if [ "$1" = status ]; then
	"$lcm" doctor
	"$lcm" db status
	exit 0
fi
exec "$lcm" "$@"

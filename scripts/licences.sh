#!/bin/sh
# Lists the licence of every module that the program links, and fails if one is
# not among those that may be linked into a program under another licence.
set -eu
GO=${GO:-go}
status=0
for line in $($GO list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}|{{.Dir}}{{end}}{{end}}' ./cmd/lcm | sort -u); do
	module=${line%%|*}
	dir=${line#*|}
	file=$(ls "$dir" | grep -i -E '^(licen[cs]e|copying|unlicense)' | head -n 1 || true)
	licence=none
	if [ -n "$file" ]; then
		text=$(tr -s ' \n\t' ' ' <"$dir/$file")
		case "$text" in
		*"Apache License"*) licence=Apache-2.0 ;;
		*"Mozilla Public License"*) licence=MPL-2.0 ;;
		*"Permission is hereby granted, free of charge"*) licence=MIT ;;
		*"Redistribution and use in source and binary forms"*) licence=BSD ;;
		*"Permission to use, copy, modify, and/or distribute"* | *"Permission to use, copy, modify, and distribute"*) licence=ISC ;;
		*"This is free and unencumbered software"* | *"CC0"*) licence=public-domain ;;
		*) licence=unknown ;;
		esac
	fi
	case $licence in
	none | unknown)
		echo "REFUSED  $licence  $module: look at $dir"
		status=1
		;;
	*) printf 'ok       %-13s  %s\n' "$licence" "$module" ;;
	esac
done
exit $status

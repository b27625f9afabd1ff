#!/bin/sh
# Prints the lines of code by folder, and their total: Go lines that are neither
# blank nor only a comment, without tests and without bench. A folder's figure
# includes its subfolders, so only the top-level ones add up to the total.
set -eu
git ls-files '*.go' | grep -v -e '_test\.go$' -e '^bench/' | xargs awk '
!/^[ \t\r]*(\/\/.*)?$/ {
	depth = split(FILENAME, part, "/") - 1
	levels = part[1] == "internal" ? 3 : 1
	folder = depth ? part[1] : "."
	lines[folder]++
	for (i = 2; i <= depth && i <= levels; i++)
		lines[folder = folder "/" part[i]]++
	total++
}
END {
	for (folder in lines) printf "%7d  %s\n", lines[folder], folder | "sort -k2"
	close("sort -k2")
	printf "%7d  total\n", total
}'

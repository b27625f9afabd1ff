#!/bin/sh
# Prints the lines of code by folder, and their total: Go lines that are neither
# blank nor only a comment, without tests and without bench. A folder's figure
# includes its subfolders, so only the top-level ones add up to the total. Then
# what the total does not tell, so that no text is moved to make it smaller.
set -eu
code='!/^[ \t\r]*(\/\/.*)?$/'
product() { git ls-files '*.go' | grep -v -e '_test\.go$' -e '^bench/'; }
# count counts the lines of the files that are named on standard input.
count() { tr '\n' '\0' | xargs -0 -r awk "$1" | wc -l; }

product | xargs awk "$code"' {
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
support='^internal/proof/|^internal/enginetest/|^examples/|^llms/llmtest/|test/'
printf '%7d  without test support and examples\n' "$(product | grep -vE "$support" | count "$code")"
printf '%7d  embedded, not Go (js, sql, txt, md, toml)\n' "$(git ls-files internal tools prompts | grep -E '\.(js|sql|txt|md|toml)$' | grep -v testdata/ | count '!/^[ \t\r]*$/')"
printf '%7d  tests\n' "$(git ls-files '*_test.go' | grep -v '^bench/' | count "$code")"
printf '%7d  bench\n' "$(git ls-files 'bench/*.go' | count "$code")"
printf '%7d  Go tokens\n' "$(product | go run ./scripts/tokens)"

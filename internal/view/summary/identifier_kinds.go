package summary

import "strings"

// isPath reports files and folders: two segments or more, a name with a known
// extension, or a dot file.
func isPath(c string) bool {
	if c == "" {
		return false
	}
	if i := strings.IndexByte(c, '/'); i >= 0 {
		return isSlashed(c, i)
	}
	i := strings.LastIndexByte(c, '.')
	if i < 0 {
		return false
	}
	if i == 0 {
		return knownDotFile[c]
	}
	return knownExtension[strings.ToLower(c[i+1:])] && isPathWord(c[:i])
}

// isSlashed tells paths from alternatives (and/or, read/write) and fractions.
func isSlashed(c string, slash int) bool {
	if slash == 0 || c[0] == '.' || c[0] == '~' {
		return len(c) > 3 && isPathWord(strings.Trim(c, "./~"))
	}
	if !isPathWord(c) || strings.Contains(c, "//") {
		return false
	}
	head, tail := c[:slash], c[slash+1:]
	if len(head) < 2 && c[0] != '@' || isDigit(head[0]) && len(tail) > 0 && isDigit(tail[0]) {
		return false
	}
	if knownUnit[tail] && !strings.ContainsAny(head, "._-") {
		return false // rows/s
	}
	if strings.IndexByte(tail, '/') < 0 && alternatives[strings.ToLower(c)] {
		return false
	}
	return true
}

// isPathWord reports whether c has letters, and nothing that file names do not have.
func isPathWord(c string) bool {
	letter := func(b byte) bool { return isAlpha(b) || b >= 0x80 }
	return some(c, letter) && every(c, func(b byte) bool { return letter(b) || isDigit(b) || strings.IndexByte("_-./~@+", b) >= 0 })
}

func isEmail(c string) bool {
	name, domain, ok := strings.Cut(c, "@")
	return ok && isPathWord(name) && domainForm().MatchString(domain)
}

// isHash reports hexadecimal digests, short or long, and UUIDs.
func isHash(c string) bool {
	return len(c) >= 7 && every(c, isHex) && some(c, isDigit) && some(c, isAlpha) || len(c) == 36 && uuidForm().MatchString(c)
}

// isNamedVersion reports v1, v1.2.3-rc1, go1.26 and name@1.2.3.
func isNamedVersion(c string) bool {
	if at := strings.LastIndexByte(c, '@'); at > 0 {
		return isPathWord(c[:at]) && versionForm().MatchString(c[at+1:])
	}
	if c[0] == 'v' && len(c) > 1 && isDigit(c[1]) {
		return versionForm().MatchString(c)
	}
	i := runEnd(c, 0, isAlpha)
	return i >= 2 && strings.IndexByte(c[i:], '.') > 0 && versionForm().MatchString(c[i:])
}

func stringSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

var (
	knownExtension = stringSet(`go mod sum py pyi ipynb js mjs cjs jsx ts tsx rs c h cc cpp hpp cs java kt
		swift rb php pl lua sh bash zsh fish ps1 bat sql html htm css scss less vue svelte xml svg json jsonl ndjson
		yaml yml toml ini cfg conf env lock md mdx rst txt log csv tsv parquet pdf doc docx xls xlsx ppt pptx
		png jpg jpeg gif webp ico bmp mp3 mp4 wav mov zip tar gz tgz zst xz bz2 7z db sqlite sqlite3 proto
		graphql tf hcl ex exs erl hs ml scala clj dart zig nim vim el tex bib patch diff pem crt key wasm so dll exe
		tmpl txtar golden`)
	knownDotFile = stringSet(`.gitignore .gitattributes .dockerignore .env .editorconfig .npmrc .bashrc .zshrc
		.profile .golangci .eslintrc .prettierrc .vimrc .git .github .claude .config .local .ssh .cache .ci`)
	alternatives = stringSet(`and/or or/and he/she she/he his/her him/her s/he i/o n/a w/o yes/no on/off true/false
		either/or read/write input/output in/out up/down start/stop pass/fail win/loss client/server
		before/after begin/end open/close left/right old/new if/else try/catch start/end user/assistant
		request/response enable/disable add/remove`)
)

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
	return knownExtension[strings.ToLower(c[i+1:])] && pathWord(c[:i])
}

// isSlashed tells paths from alternatives (and/or, read/write) and fractions.
func isSlashed(c string, slash int) bool {
	if slash == 0 || c[0] == '.' || c[0] == '~' {
		return len(c) > 3 && pathWord(strings.Trim(c, "./~"))
	}
	if !pathWord(c) || strings.Contains(c, "//") {
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

// pathWord reports whether c is made of what file names are made of.
func pathWord(c string) bool {
	letters := 0
	for i := 0; i < len(c); i++ {
		switch b := c[i]; {
		case isAlpha(b) || b >= 0x80:
			letters++
		case isDigit(b), strings.IndexByte("_-./~@+", b) >= 0:
		default:
			return false
		}
	}
	return letters > 0
}

// isPositions reports the 12 and 12:5 after a path.
func isPositions(c string) bool {
	line, col, more := strings.Cut(c, ":")
	return isDigits(line) && (!more || isDigits(col))
}

// isHost reports what may stand before a port.
func isHost(c string) bool {
	if c == "localhost" {
		return true
	}
	dots := strings.Count(c, ".")
	return dots >= 1 && pathDotted(c)
}

func pathDotted(c string) bool {
	for _, part := range strings.Split(c, ".") {
		if part == "" {
			return false
		}
		for i := 0; i < len(part); i++ {
			if !isAlnum(part[i]) && part[i] != '-' {
				return false
			}
		}
	}
	return true
}

// isImage reports name:tag where the tag is a version.
func isImage(name, tag string) bool {
	return name != "" && isAlpha(name[0]) && pathWord(name) && strings.IndexByte(tag, '.') > 0 && isVersionTail(tag)
}

func isEmail(c string) bool {
	at := strings.IndexByte(c, '@')
	if at < 1 || at == len(c)-1 {
		return false
	}
	domain := c[at+1:]
	return strings.IndexByte(domain, '.') > 0 && pathDotted(domain) && isAlpha(domain[0]) && pathWord(c[:at])
}

// isHash reports hexadecimal digests, short or long, and UUIDs.
func isHash(c string) bool {
	if len(c) == 36 && c[8] == '-' && c[13] == '-' && c[18] == '-' && c[23] == '-' {
		return allHex(strings.ReplaceAll(c, "-", ""))
	}
	if len(c) < 7 || !allHex(c) {
		return false
	}
	digits, letters := 0, 0
	for i := 0; i < len(c); i++ {
		if isDigit(c[i]) {
			digits++
		} else {
			letters++
		}
	}
	return digits > 0 && letters > 0
}

func allHex(c string) bool {
	for i := 0; i < len(c); i++ {
		if !isHex(c[i]) {
			return false
		}
	}
	return true
}

// isNamedVersion reports v1, v1.2.3-rc1, go1.26 and name@1.2.3.
func isNamedVersion(c string) bool {
	if at := strings.LastIndexByte(c, '@'); at > 0 {
		return isVersionTail(c[at+1:]) && pathWord(c[:at])
	}
	if c[0] == 'v' && len(c) > 1 && isDigit(c[1]) {
		return isVersionTail(c)
	}
	i := 0
	for i < len(c) && isAlpha(c[i]) {
		i++
	}
	return i >= 2 && i < len(c) && strings.Count(c[i:], ".") >= 1 && isVersionTail(c[i:])
}

// isVersionTail reports 1, 1.2, 1.2.3, each with an optional v and a suffix.
func isVersionTail(c string) bool {
	if len(c) > 0 && c[0] == 'v' {
		c = c[1:]
	}
	i := 0
	for i < len(c) && (isDigit(c[i]) || c[i] == '.') {
		i++
	}
	if i == 0 || !isDigit(c[0]) || c[i-1] == '.' || strings.Contains(c[:i], "..") {
		return false
	}
	suffix := c[i:]
	if suffix == "" {
		return true
	}
	if suffix[0] == '+' && len(suffix) > 1 && isDigit(suffix[1]) {
		return false // a sum
	}
	if suffix[0] != '-' && suffix[0] != '+' && !strings.HasPrefix(suffix, "rc") && !strings.HasPrefix(suffix, "beta") {
		return false
	}
	for j := 0; j < len(suffix); j++ {
		if !isAlnum(suffix[j]) && strings.IndexByte("-+.", suffix[j]) < 0 {
			return false
		}
	}
	return true
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

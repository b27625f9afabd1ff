package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences splits text at the ends of lines and sentences, without code blocks.
func Sentences(text string) []string {
	var all []string
	code := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			code = !code
			continue
		}
		if code || line == "" || strings.HasPrefix(line, "|") {
			continue
		}
		all = append(all, split(strings.TrimLeft(line, "-*#> \t"))...)
	}
	return all
}

// split splits a line after full stops before a space and no lower-case letter.
func split(line string) []string {
	var all []string
	from := 0
	for i, r := range line {
		if !strings.ContainsRune(".!?。！？", r) {
			continue
		}
		end := i + utf8.RuneLen(r)
		rest := line[end:]
		next, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest, " "))
		if r < 0x80 && (!strings.HasPrefix(rest, " ") || unicode.IsLower(next)) && rest != "" {
			continue
		}
		all = append(all, strings.TrimSpace(line[from:end]))
		from = end
	}
	if rest := strings.TrimSpace(line[from:]); rest != "" {
		all = append(all, rest)
	}
	return all
}

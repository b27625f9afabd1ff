package patterns

// Pattern is one of the patterns that are measured.
type Pattern struct {
	Kind string
	Expr string
	Scan bool // it has no literal and no small class to look up
}

// List returns the patterns, one of each kind.
func List() []Pattern {
	return []Pattern{
		{Kind: "rare word", Expr: `Zanabazar`},
		{Kind: "rare identifier", Expr: `runtime_procPin`},
		{Kind: "absent word", Expr: `xylotomously`},
		{Kind: "common word", Expr: `return`},
		{Kind: "very common word", Expr: `the`},
		{Kind: "common identifier", Expr: `context\.Context`},
		{Kind: "call", Expr: `fmt\.Errorf\(`},
		{Kind: "path", Expr: `internal/poll/fd_unix\.go`},
		{Kind: "URL", Expr: `https://go\.dev/issue/[0-9]+`},
		{Kind: "error message", Expr: `connection refused`},
		{Kind: "phrase of common words", Expr: `it is not`},
		{Kind: "two letters", Expr: `qz`, Scan: true},
		{Kind: "ignoring case", Expr: `(?i)deprecated`},
		{Kind: "ignoring case, rare", Expr: `(?i)heisenbug`},
		{Kind: "alternation, rare", Expr: `Zanabazar|Khitan|Nandinagari`},
		{Kind: "alternation, common", Expr: `error|return|func`},
		{Kind: "alternation, mixed", Expr: `goroutine leak|deadlock|data race`},
		{Kind: "alternation in a word", Expr: `un(lock|block|map)ed`},
		{Kind: "optional part", Expr: `colou?r`},
		{Kind: "word boundary", Expr: `\bTODO\b`},
		{Kind: "word boundary, common", Expr: `\bif\b`, Scan: true},
		{Kind: "literal at the end", Expr: `\w+Deadline`},
		{Kind: "literal in the middle", Expr: `\w+_unix\w*`},
		{Kind: "two literals", Expr: `func.*error`},
		{Kind: "two rare literals", Expr: `mutex.*starvation`},
		{Kind: "assignment", Expr: `\w+ := range \w+`},
		{Kind: "signature", Expr: `func \(\w+ \*?\w+\) Close\(\) error`},
		{Kind: "hexadecimal", Expr: `0x[0-9a-f]{8}`},
		{Kind: "version", Expr: `v[0-9]+\.[0-9]+\.[0-9]+-[0-9]{14}`},
		{Kind: "date", Expr: `20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]`},
		{Kind: "time", Expr: `[0-9][0-9]:[0-9][0-9]:[0-9][0-9]`},
		{Kind: "IP address", Expr: `[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}`},
		{Kind: "line reference", Expr: `[a-z_]+\.go:[0-9]+`},
		{Kind: "e-mail", Expr: `[a-z0-9.]+@[a-z0-9]+\.(com|org)`},
		{Kind: "issue key", Expr: `CVE-[0-9]{4}-[0-9]{4,}`},
		{Kind: "dash and digits", Expr: `-[0-9][0-9][^0-9]`},
		{Kind: "key without a literal", Expr: `\b[A-Z]{2,}-[0-9]{5}\b`},
		{Kind: "capitals", Expr: `\b[A-Z][a-z]+[A-Z][a-z]+[A-Z][a-z]+[0-9]\b`, Scan: true},
		{Kind: "long word", Expr: `[a-z]{24,}`, Scan: true},
		{Kind: "digits", Expr: `\b[0-9]{9}\b`, Scan: true},
	}
}

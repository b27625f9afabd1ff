package recall

import _ "embed"

//go:embed evidence.jsonl
var bundled []byte

// Bundled is a small dataset that was written for this project: two
// conversations and their questions. It is too small to compare systems with; its figures are
// kept as a golden file, so that a change in ranking shows as a change there.
func Bundled() (Dataset, error) { return Parse(bundled) }

package summary

// Mentioned returns the identifiers of a source apart: those that a person or
// the assistant said in prose, and those seen in tool traffic, tool output
// and code blocks only. A summary's sentences and ledger are told apart in
// the same way; its footer is left out. Identifiers found in a summary's
// lines have offsets into the line they stand in.
func Mentioned(s Source) (said, seen []Identifier) {
	m := take([]Source{s})
	for d := range m.docs {
		doc := &m.docs[d]
		before := len(m.blocks)
		m.split(d)
		blocks := m.blocks[before:]
		for _, id := range Identifiers(doc.text) {
			if within(&blocks, id.At) {
				seen = append(seen, id)
			} else {
				said = append(said, id)
			}
		}
	}
	for _, item := range m.ledgers {
		for _, id := range Identifiers(item.text) {
			if item.tool {
				seen = append(seen, id)
			} else {
				said = append(said, id)
			}
		}
	}
	return said, seen
}

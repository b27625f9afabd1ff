package search

// Required describes the trigrams that a text must contain to match.
func (p *Pattern) Required() string { return p.query.String() }

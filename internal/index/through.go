package index

// What came after a search's highest id must not show in its scores either:
// words that became more common would reorder the pages that are still to be
// read. In a segment that goes on past that id, passages are therefore counted
// one by one.

// countWithin adds the passages of a share's documents up to its end.
func (p *phase) countWithin(sh *share) error {
	docs, lengths := docColumn{r: sh.r}, lengthColumn{r: sh.r}
	for _, within := range sh.ranges {
		for at := within.from; at < within.to; at++ {
			doc, err := docs.at(at)
			if err != nil {
				return err
			}
			if doc >= sh.end {
				continue
			}
			length, err := lengths.at(at)
			if err != nil {
				return err
			}
			p.stats.passages++
			p.stats.words += float64(length)
		}
	}
	return nil
}

// countPostings counts those of a share's documents up to its end.
func (sh *share) countPostings(list []posting) (uint32, error) {
	docs := docColumn{r: sh.r}
	n := uint32(0)
	for _, post := range list {
		doc, err := docs.at(post.passage)
		if err != nil {
			return 0, err
		}
		if doc < sh.end {
			n++
		}
	}
	return n, nil
}

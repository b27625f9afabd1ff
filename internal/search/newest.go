package search

// newestFirst finds the newest documents that match. It goes on until it has as
// many as are asked for or there are no more, however many candidates that
// takes, so that paging with Below reaches every match.
//
// It reads every text only for phrases and prefixes. Otherwise it reads those of the
// newest documents, and the others keep the score of their postings: a histogram of
// 2,000 matches took 50 ms of processor time with all texts, and takes 4 ms.
func (p *search) newestFirst(req Request, weights Weights, fetch Fetch, res *Result) ([]Hit, error) {
	want := req.Limit
	if want <= 0 {
		want = candidateCount
	}
	chosen := p.choose()
	var docs []scoredDoc
	below, n := req.Below, want
	for round := 0; ; round++ {
		list, all, err := p.newestBelow(below, n, chosen)
		if err != nil {
			return nil, err
		}
		if round == 0 {
			// Later rounds look at some documents again.
			res.Matched, p.cut = p.matched, !all
		}
		rest := []found(nil)
		if shown := min(scoredCount, len(list)); !p.verify {
			list, rest = list[:shown], list[shown:]
		}
		for i := range list {
			list[i].scored = true
		}
		got, read, err := p.read(list, want-len(docs), fetch, res)
		if err != nil {
			return nil, err
		}
		docs = append(docs, got...)
		if docs, err = p.unread(docs, rest[:min(len(rest), max(0, want-len(docs)))]); err != nil {
			return nil, err
		}
		list = append(list, rest...)
		full := len(docs) >= want
		if full || all && len(list) < n {
			p.matched = res.Matched
			if p.verify {
				// Those that nobody read may not match at all.
				p.matched, p.cut = len(docs), !read || !all || len(list) == n
			}
			res.Unranked = p.cut || p.matched > len(docs)
			p.ranked = len(docs)
			return p.score(docs, weights)
		}
		last := list[len(list)-1]
		if below, err = p.shares[last.share].r.DocID(last.doc); err != nil {
			return nil, err
		}
		n = min(4*n, verifyLimit)
	}
}

// newestBelow lists the newest n documents under an id (zero: of all) whose
// postings match; all says that every share was looked at.
func (p *search) newestBelow(below int64, n int, chosen []int) (list []found, all bool, err error) {
	into := &best{n: n, byID: true}
	for i := len(p.shares) - 1; i >= 0; i-- {
		sh := p.shares[i]
		if below != 0 && sh.r.Segment.Info().FirstID >= below {
			continue
		}
		if len(into.list) == n {
			return into.sorted(), false, nil
		}
		end := sh.end
		if below != 0 && sh.r.Segment.Info().LastID >= below {
			under, err := sh.r.DocsBelow(below)
			if err != nil {
				return nil, false, err
			}
			end = min(end, under)
		}
		if _, err := p.offer(i, chosen, end, into); err != nil {
			return nil, false, err
		}
	}
	return into.sorted(), true, nil
}

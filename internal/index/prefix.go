package index

// shorterStems lists the stems that a word beginning with prefix may have and
// that are too short to begin with it themselves: "runnin*" must reach the stem
// "run" of "running". What they find is verified against the text.
func shorterStems(prefix string) []string {
	var out []string
	for i := range len(prefix) {
		if prefix[i] < 'a' || prefix[i] > 'z' {
			return nil
		}
	}
	for n := 3; n < len(prefix); n++ {
		out = append(out, prefix[:n])
		if n+1 < len(prefix) {
			out = append(out, prefix[:n]+"e", prefix[:n]+"i")
		} else {
			for _, c := range []string{"e", "i"} {
				if c != prefix[n:] {
					out = append(out, prefix[:n]+c)
				}
			}
		}
	}
	return out
}

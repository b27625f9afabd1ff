package config

import "strings"

// Misspelt is a variable of the environment that lcm ignores, and the variable of a setting
// that its name resembles.
type Misspelt struct{ Variable, Meant string }

// MisspeltIn finds the misspelt variables of an environment.
func MisspeltIn(environ []string) (found []Misspelt) {
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "LCM") {
			continue // comparing every variable took a tenth of the time of a short command
		}
		if meant := resembles(name); meant != "" {
			found = append(found, Misspelt{name, meant})
		}
	}
	return found
}

// resembles returns the variable of a setting that differs from a name by one or two letters or by
// words that follow, or whose key makes the name. It is empty if a variable has the name.
func resembles(name string) (meant string) {
	best := 3
	for _, s := range table {
		d := distance(name, s.Env)
		if strings.HasPrefix(s.Env, name+"_") || d > 0 && name == "LCM_"+strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_")) {
			d = 2
		}
		if d < best {
			best, meant = d, s.Env
		}
	}
	if best == 0 {
		return ""
	}
	return meant
}

// distance is how many letters are added, removed or replaced between two words (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			if a[i] == b[j] {
				row[j+1] = before
			} else {
				row[j+1] = 1 + min(before, above, row[j])
			}
			before = above
		}
	}
	return row[len(b)]
}

package analysis

import "strings"

// stopWords are the English function words that a query drops. They stay in the
// index, so that a phrase or a +word may still ask for them.
var stopWords = WordSet(`
a about above after again all also am an and any are arent as at be because been before being below between both but by
can cant cannot could couldnt did didnt do does doesnt doing dont down during each either ever few for from further had
hadnt has hasnt have havent having he hed her here heres hers herself hes him himself his how hows however i id if ill im
in into is isnt it its itself ive just kind let lets many may me might mine more most much must my myself no nor not now
of off often on once one ones only onto or other ought our ours ourselves out over own please same shall shan she shed
shes should shouldnt so some such than that thats the their theirs them themselves then there theres these they theyd
theyll theyre theyve this those through to too toward towards under until up upon us very was wasnt we wed well were
weren weve what whatever whats when whens where wheres whether which while who whom whos whose why will with within
without wont would wouldnt yes yet you youd youll your youre yours yourself yourselves youve t s d m ll re ve`)

// IsStopWord reports whether a query drops a word, as it does with the function
// words of English unless it has no others.
func IsStopWord(word string) bool { return stopWords[strings.ToLower(word)] }

func WordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

package analysis

import (
	"slices"
	"strings"
	"sync"
)

// stopWords are the English function words that a query drops. They stay in the
// index, so that a phrase or a +word may still ask for them.
var stopWords = sync.OnceValue(func() map[string]bool {
	return WordSet(`
a about above after again all also am an and any are arent as at be because been before being below between both but by
can cant cannot could couldnt did didnt do does doesnt doing dont down during each either ever few for from further had
hadnt has hasnt have havent having he hed her here heres hers herself hes him himself his how hows however i id if ill im
in into is isnt it its itself ive just kind let lets many may me might mine more most much must my myself no nor not now
of off often on once one ones only onto or other ought our ours ourselves out over own please same shall shan she shed
shes should shouldnt so some such than that thats the their theirs them themselves then there theres these they theyd
theyll theyre theyve this those through to too toward towards under until up upon us very was wasnt we wed well were
weren weve what whatever whats when whens where wheres whether which while who whom whos whose why will with within
without wont would wouldnt yes yet you youd youll your youre yours yourself yourselves youve t s d m ll re ve`)
})

// IsStopWord reports whether a query drops a word, as it does with the function
// words of English unless it has no others.
func IsStopWord(word string) bool { return stopWords()[strings.ToLower(word)] }

// IsGermanStop reports whether a word, folded, is a function word of German.
func IsGermanStop(word string) bool { return otherStops()[0][word] }

// otherStops are frequent function words of other languages that are no words of
// English, folded: of German, French, Spanish, Italian, Portuguese, Dutch, Swedish,
// Danish and Norwegian, Finnish, Hungarian, Turkish, Romanian and Russian.
var otherStops = sync.OnceValue(func() (sets []map[string]bool) {
	for _, words := range []string{
		"und nicht ist ein eine auf mit werden fur wie wir haben der den dem das sich auch noch uber wurde bei zum zur wo warum welche welcher welches " +
			"ab aber alle alles als also am an aus beim bin bis da damit dann dass dein denn des dich die dies diese diesem diesen dieser dieses dir doch dort du durch einem einen " +
			"einer eines er es euch etwas gegen hab habe hat hatten hier ich ihm ihn ihr ihre im in ins ja jede jeden jeder jedes kann kein keine keinen mal man mein meine mir nach nichts " +
			"nun nur ob oder ohne sehr seit sie sind so soll sollen statt um uns unser unsere unserem unseren unserer unter vom von vor war waren was weil welchem welchen wenn wird wurden zu zwischen",
		"les est dans pour pas une avec nous des sur que qui quel quelle quels le la du et au aux ou pourquoi comment avons ete",
		"los las para una por con que del como esta son cual donde cuando el en de hemos fue porque",
		"che non per una sono della del con nel quale come dove quando il gli di perche abbiamo stato",
		"nao que uma para com dos das foi como qual onde quando os de em por voce temos porque",
		"het een niet van voor zijn met dat wij hebben hoe waar welke wat werd ook naar bij",
		"och att inte det som med den vilken vilket hur var vi har till av ett pa",
		"og ikke det som med den hvilken hvilket hvor vi har til af av et pa hvad hva blev ble",
		"ja ei on etta oli mika missa miten kun ovat mutta",
		"es nem hogy egy az volt mi hol mikor milyen van",
		"ve bir icin degil ile bu ne nerede nasil hangi olarak",
		"si nu este pentru cu din unde cand care cum sunt o",
		"и не что это как для на мы с по в был где когда какои какая почему",
	} {
		sets = append(sets, WordSet(words))
	}
	return sets
})

// StopWords returns a test for the function words that a question drops: those of
// English, and those of the language that it has most function words of. One of
// another language may be a word of English or a name, unless there are two. It also
// returns whether the question is German.
func StopWords(question []string) (stop func(word string) bool, german bool) {
	count := func(is func(string) bool) (n int) {
		for _, w := range question {
			if is(w) {
				n++
			}
		}
		return n
	}
	sets := otherStops()
	in := func(set map[string]bool) func(string) bool { return func(w string) bool { return set[w] } }
	best := slices.MaxFunc(sets, func(x, y map[string]bool) int { return count(in(x)) - count(in(y)) })
	if n := count(in(best)); n < 2 || n <= count(IsStopWord) {
		return IsStopWord, false
	}
	return func(w string) bool { return IsStopWord(w) || best[w] }, best["nicht"]
}

func WordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

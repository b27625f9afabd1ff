package variants

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// Language is a language with a stemmer. English has none here: the index is
// made of English stems.
type Language struct {
	Name string
	// Common are frequent function words that are no words of English, folded.
	// They show that a record or a question is in the language.
	Common []string
	script *unicode.RangeTable
	stem   func(*snowballstem.Env) bool
}

// Languages are all of them, in a fixed order.
var Languages = []*Language{
	{"German", strings.Fields("und nicht ist ein eine auf mit werden fur wie wir haben der den dem das sich auch noch uber wurde bei zum zur wo warum welche welcher welches"), unicode.Latin, german.Stem},
	{"French", strings.Fields("les est dans pour pas une avec nous des sur que qui quel quelle quels le la du et au aux ou pourquoi comment avons ete"), unicode.Latin, french.Stem},
	{"Spanish", strings.Fields("los las para una por con que del como esta son cual donde cuando el en de por hemos fue porque"), unicode.Latin, spanish.Stem},
	{"Italian", strings.Fields("che non per una sono della del con nel quale come dove quando il gli di perche abbiamo stato"), unicode.Latin, italian.Stem},
	{"Portuguese", strings.Fields("nao que uma para com dos das foi como qual onde quando os de em por voce temos porque"), unicode.Latin, portuguese.Stem},
	{"Dutch", strings.Fields("het een niet van voor zijn met dat wij hebben hoe waar welke wat werd ook naar bij"), unicode.Latin, dutch.Stem},
	{"Swedish", strings.Fields("och att inte det som med den vilken vilket hur var vi har till av ett pa"), unicode.Latin, swedish.Stem},
	{"Danish", strings.Fields("og ikke det som med den hvilken hvilket hvor vi har til af et pa hvad blev"), unicode.Latin, danish.Stem},
	{"Norwegian", strings.Fields("og ikke det som med den hvilken hvilket hvor vi har til av et pa hva ble"), unicode.Latin, norwegian.Stem},
	{"Finnish", strings.Fields("ja ei on etta oli mika missa miten kun ovat mutta"), unicode.Latin, finnish.Stem},
	{"Hungarian", strings.Fields("es nem hogy egy az volt mi hol mikor milyen van"), unicode.Latin, hungarian.Stem},
	{"Turkish", strings.Fields("ve bir icin degil ile bu ne nerede nasil hangi olarak"), unicode.Latin, turkish.Stem},
	{"Romanian", strings.Fields("si nu este pentru cu din unde cand care cum sunt o"), unicode.Latin, romanian.Stem},
	{"Russian", strings.Fields("и не что это как для на мы с по в был где когда какой какая почему"), unicode.Cyrillic, russian.Stem},
}

// Stem is the stem of a folded word, or the word itself if it is of another
// script.
func (l *Language) Stem(word string) string {
	if !l.Writes(word) {
		return word
	}
	if l.script == unicode.Cyrillic {
		word = shortI.Replace(word)
	}
	env := snowballstem.NewEnv(word)
	l.stem(env)
	return env.Current()
}

// Writes reports whether the word is of the language's script.
func (l *Language) Writes(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.Is(l.script, r)
}

// Alone reports a language that its script tells.
func (l *Language) Alone() bool { return l.script != unicode.Latin }

// shortI restores the й that folding made an и, where no word has an и.
var shortI = strings.NewReplacer("аи", "ай", "еи", "ей", "ои", "ой", "уи", "уй", "ыи", "ый", "эи", "эй", "юи", "юй", "яи", "яй")

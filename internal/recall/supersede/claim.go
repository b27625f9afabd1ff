package supersede

import (
	"maps"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/recall/search/analysis"
)

// claim is a sentence that may state how something is.
type claim struct {
	tokens  []token
	clauses [][]token       // the tokens between commas and the like
	words   map[string]bool // by stem: the words that tell the subject, and the values
	form    func() form     // found when it is first needed, which costs more than the rest
}

// form is what a claim does.
type form struct {
	reverses bool            // it has words of reversal
	blames   bool            // it complains of something
	fromNow  bool            // it says what holds from now on
	adds     bool            // it says something in addition
	open     bool            // a question or a proposal
	replaced map[string]bool // by stem: the words that it may name as what no longer holds
	ended    map[string]bool // by stem: those that it surely does
}

// token is a word of a claim.
type token struct {
	stem  string
	low   string
	kind  kind
	named bool // written as a name or, in German, a noun
}

// kind is the kind of value that a token may be.
type kind uint8

const (
	functionWord kind = iota
	common            // says little of the subject
	word
	number
	name // an identifier, a path, a version, a quoted text, a word with a capital letter
)

// Longer sentences are lists or pasted text, longer words data. Of a message only the first sentences
// about the subject are read.
const (
	longText      = 16 << 10 // bytes
	longSentence  = 400      // bytes
	longWord      = 60       // bytes
	mostSentences = 40
	mostClaims    = 8
	shortClause   = 3  // tokens
	longClause    = 24 // tokens
)

var clauseEnds = lazyregexp.New(`[,;(–—]\s| - | (?:because|so|therefore|then|since|but|and|weil|damit|aber|und|dann|also) `)

// sentences splits what prose.Sentences leaves together: people who chat do not begin
// sentences with a capital letter.
var sentences = lazyregexp.New(`(?:[^.!?]|[.!?]+[^\s.!?])+[.!?]*`)

// Words that show what a sentence does. Text is compared in lower case, umlauts as their
// vowels.
var (
	reverses = lazyregexp.New(`\b(?:instead|no longer|any ?more|not any longer|actually|from (?:now on|here on|today)|now[.!]*$|takes? over|please drop|drop it|leav(?:e|es|ing)|going forward|as of (?:now|today)|changed?(?: \w+){0,4} (?:to|from)|switch(?:ed|ing)?(?: \w+){0,4} (?:to|from|over)|` +
		`mov(?:ed|ing)(?: \w+){0,4} (?:to|from|off|away)|replac(?:e[ds]?|ing)|scrap(?:ped)?|scratch that|forget|revert(?:ed|ing)?|roll(?:ed|ing)? back|undo|undid|dropp(?:ed|ing)|drop the|ditch(?:ed)?|` +
		`correction|i was wrong|that was wrong|that's wrong|changed my mind|change of plan|new plan|on second thou?ght|turns out|(?:is|are|be|we|use|uses|to|at|has|have|goes) now|now (?:it's|is|are|use|uses|we|at|on|runs?|lives?|goes|set|called|has)|` +
		`(?:raised|lowered|bumped|increased|decreased|reduced|cut|upgraded|downgraded|renamed|migrated|extended|shortened|doubled|halved)(?: \w+){0,5} (?:to|from|into)|rather than|in place of|superseded?s?|overrules?d?|` +
		`let's (?:go with|use|switch|take)|we(?:'re| are) going with|we(?:'ll| will) (?:go|use|take) |won't|will not|not \w+ but|` +
		`stattdessen|statt|anstatt|anstelle|doch (?:nicht|lieber|kein\w*|auf|bei|nur|wieder|mit)|lieber|nicht mehr|doch nicht|kein\w* mehr|ab (?:jetzt|sofort|heute|nun)|kunftig|eigentlich|wander[nt]|steigen(?: \w+){0,4} um|von nun an|nun(?:mehr)?|jetzt|geandert|andern wir|umgestellt|umgezogen|umbenannt|ersetzt|` +
		`vergiss|verwerfen|verworfen|zuruck(?:genommen|gerollt|gedreht)?|korrektur|war falsch|revidiert|uberholt|wechseln|gewechselt|erhoht|gesenkt|hochgesetzt|herabgesetzt|reduziert|verlangert|verkurzt|` +
		`plutot|desormais|finalement|ne \w+ plus|au lieu|a la place|remplace\w*|en lugar|en vez|ya no|ahora|mejor|cambi\w+|invece|non piu|d'ora in poi|in plaats|voortaan|niet meer|em vez|agora|nao mais)\b|` +
		`改为|改成|改用|不再|而是|取消|换成|ではなく|やめて|変更|に変え|대신|더 이상|변경|вместо|больше не|теперь|передумал`)
	fromNow = lazyregexp.New(`\b(?:from (?:now|here) on|from today|as of (?:now|today)|i was wrong|correction|change of plan|changed my mind|on second thought|scratch that|takes? over|switch(?:ing|ed)? (?:over )?to|let's (?:go with|use|switch|take)|make it|ab (?:jetzt|sofort|heute)|doch nicht|kunftig|stattdessen|steigen(?: \w+){0,4} um|wechseln)\b`)
	names   = lazyregexp.New(`\b(?:instead of|rather than|no longer|in place of|replac(?:es?|ed|ing)|not|from|was|were|forget|drop(?:ped|ping)?|revert(?:ed|ing)?|off|away from|ditch(?:ed)?|scrap(?:ped)?|against|used to be|` +
		`statt|anstatt|anstelle|nicht mehr|doch nicht|kein\w*|von|bisher|vergiss(?: das mit)?|leaving|` +
		`au lieu de|en lugar de|en vez de|invece di|in plaats van|em vez de)\s`)
	blames = lazyregexp.New(`\b(?:too \w+|can't|cannot|doesn't|isn't|fail(?:s|ed)?|broken?|breaks|slow|expensive|huge|heavy|flaky|unmaintained|end of life|deprecated|takes ages|pulls in|wants? (?:a lot|too much|money)|costs?|annoy\w*|` +
		`clumsy|overrates?|down|leak(?:s|ed)|crash(?:es|ed)|zu (?:gross|teuer|langsam|schwer|viel|klein|kompliziert)|fallt|fallen|brennt|kaputt|nervt|veraltet|unzuverlassig|niemand)\b`)
	namedBefore = lazyregexp.New(`(\S+) (?:doch nicht|wird nicht mehr|fliegt raus|is (?:out|gone|dead))\b`)
	ends        = lazyregexp.New(`\b(?:instead of|in place of|replac(?:es?|ed|ing)|forget(?: what (?:i|we) said)?(?: about)?|drop(?:ping)?|ditch|scrap|we leave|leaving|bye|no more|there's no|no longer|get rid of|anstatt|anstelle|statt|vergiss(?: das mit)?|weg (?:von|mit)|kein\w* \w+ mehr)\s`)
	endsBefore  = lazyregexp.New(`(\S+) (?:(?:is|are|'s|was|goes?|can go|ist|sind|geht|fliegt|fallt|wird) (?:out|off|gone|dead|history|cancelled|canceled|superfluous|obsolete|off the table|away|raus|weg|gestrichen|geschichte|uberflussig|abgeschaltet)|out|gone|raus|streichen|anymore|any more|doch nicht|nicht mehr)(?:[.,;!?]|$| (?:and|und|then|dann|so)\b)`)
	adds        = lazyregexp.New(`\b(?:also|as well|in addition|additionally|besides|another|both|auch|zusatzlich|ausserdem|beide[ns]?|ebenfalls|weitere[nrs]?|respectively)\b|\btoo(?:[.,!]|$)`)
	proposes    = lazyregexp.New(`\b(?:could|might|maybe|perhaps|would|should (?:we|i)|shall we|what if|if we|option|alternatively|one idea|consider|konnten?|vielleicht|wurden?|sollten wir|falls|eventuell|alternativ)\b|^(?:if|wenn|falls) `)
)

// terms are the stems of the words of a text that tell its subject.
func terms(text string) map[string]bool {
	c := parse(text)
	specific := map[string]bool{}
	for _, t := range c.tokens {
		if t.kind > common {
			specific[t.stem] = true
		}
	}
	if len(specific) == 0 {
		return c.words
	}
	return specific
}

// message is what a message states.
type message struct {
	claims  []claim         // about the subject, or with the subject from the sentence before
	all     []claim         // every sentence
	words   map[string]bool // of all of it, by stem
	values  map[string]bool // the names and numbers of these
	names   []string        // in lower case
	subject map[string]bool
	user    bool
}

// read returns what a message states about the subject.
func read(s Statement, subject map[string]bool) message {
	m := message{words: map[string]bool{}, values: map[string]bool{}, subject: subject, user: s.User}
	var before map[string]bool
	for _, sentence := range sentences().FindAllString(strings.Join(prose.Sentences(s.Text[:min(len(s.Text), longText)]), "\n"), -1) {
		if len(m.claims) == mostClaims || len(m.all) == mostSentences {
			break
		}
		if sentence = strings.TrimSpace(sentence); sentence == "" || len(sentence) > longSentence {
			continue
		}
		c := parse(sentence)
		maps.Copy(m.words, c.words)
		m.all = append(m.all, c)
		for _, t := range c.tokens {
			if t.kind >= number {
				m.values[t.stem] = true
			}
			if t.named {
				m.names = append(m.names, t.low)
			}
		}
		own := c.words
		if !overlap(own, subject) {
			c.words = maps.Clone(own)
			for w := range before {
				if subject[w] {
					c.words[w] = true
				}
			}
		}
		if len(subject) == 0 || overlap(c.words, subject) {
			m.claims = append(m.claims, c)
		}
		before = own
	}
	return m
}

// around are a sentence and those beside it.
func (m message) around(i int) []claim { return m.all[max(0, i-1):min(i+2, len(m.all))] }

// formAround is the form of a sentence together with those beside it.
func (m message) formAround(i int) form {
	sum := form{replaced: map[string]bool{}}
	for _, c := range m.around(i) {
		f := c.form()
		sum.reverses, sum.adds = sum.reverses || f.reverses, sum.adds || f.adds
		maps.Copy(sum.replaced, f.replaced)
	}
	return sum
}

// about reports whether two messages have a value in common, or state something of the same.
func (m message) about(o message) bool {
	for w := range m.values {
		if o.values[w] {
			return true
		}
	}
	return len(m.claims) > 0 && len(o.claims) > 0
}

// hasOther reports whether a message has a value that another lacks.
func (m message) hasOther(o message) bool {
	for w := range m.values {
		if !o.values[w] {
			return true
		}
	}
	return false
}

// beginsWith reports whether a claim begins with a word, articles aside.
func (c claim) beginsWith(stem string) bool {
	rest := withoutArticles(c.tokens)
	return len(rest) > 0 && rest[0].kind >= word && rest[0].stem == stem
}

func overlap(a, b map[string]bool) bool {
	for w := range a {
		if b[w] {
			return true
		}
	}
	return false
}

var fold = strings.NewReplacer("’", "'", "ä", "a", "ö", "o", "ü", "u", "ß", "ss", "é", "e", "è", "e", "ê", "e", "à", "a", "ô", "o", "ù", "u", "ã", "a", "ç", "c")

func parse(sentence string) claim {
	low := fold.Replace(strings.ToLower(sentence))
	c := claim{words: map[string]bool{}}
	stop, german := analysis.StopWords(strings.Fields(low))
	begins := true // the sentence, or what someone says: "Anna: That is"
	for _, clause := range clauseEnds().Split(sentence, -1) {
		from := len(c.tokens)
		for _, r := range strings.FieldsFunc(clause, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`,;()[]{}"“”„«»*=→`, r) }) {
			says := strings.HasSuffix(r, ":")
			if first, second, ok := strings.Cut(strings.Trim(r, ".:!?"), "-"); ok && letters(first) && letters(second) {
				c.add(first, begins, german, stop)
				r = second
			}
			c.add(r, begins, german, stop)
			if begins = says; says {
				from = len(c.tokens)
			}
		}
		if n := len(c.tokens) - from; n >= shortClause && n <= longClause {
			c.clauses = append(c.clauses, c.tokens[from:])
		}
	}
	own := c.words
	c.form = sync.OnceValue(func() form {
		return form{
			reverses: mayReverse(low) && reverses().MatchString(low), blames: blames().MatchString(low), fromNow: fromNow().MatchString(low), adds: adds().MatchString(low), replaced: named(low, own, names(), namedBefore()), ended: named(low, own, ends(), endsBefore()),
			open: strings.HasSuffix(strings.TrimSpace(low), "?") || proposes().MatchString(low),
		}
	})
	return c
}

// hints are the beginnings of the words of which one is in every sentence that reverses
// matches, which takes long.
var hints = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(`instead longer anymore more actually now today leave leaving forward change switch moved moving replace scrap scratch forget revert
		back undo undid drop ditch correction wrong here takes take over mind plan second turns raised lowered bumped increased decreased reduced cut upgraded downgraded renamed migrated extended
		shortened doubled halved rather place superseded overrule let's going will we'll won't not statt anstatt anstelle doch lieber mehr ab kunftig eigentlich wandern steigen
		nun jetzt geandert andern umgestellt umgezogen umbenannt ersetzt vergiss verwerfen verworfen zuruck korrektur falsch revidiert uberholt wechseln gewechselt erhoht gesenkt
		hochgesetzt herabgesetzt reduziert verlangert verkurzt plutot desormais finalement plus lieu remplace lugar vez ya ahora mejor cambi invece piu poi plaats voortaan meer
		agora mais`) {
		out[w[:min(len(w), 3)]] = true
	}
	return out
})

// mayReverse reports whether a sentence has a hint, or letters that are not Latin.
func mayReverse(low string) bool {
	for w := range strings.FieldsFuncSeq(low, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
		if hints()[w[:min(len(w), 3)]] || w[0] >= 0xd0 { // Cyrillic, Han, kana, Hangul
			return true
		}
	}
	return false
}

// named returns the words behind or before a phrase.
func named(low string, words map[string]bool, behind, before *regexp.Regexp) map[string]bool {
	out := map[string]bool{}
	for _, m := range before.FindAllStringSubmatch(low, -1) {
		out[analysis.LightStem(strings.Trim(m[1], "`'.,;:!()"))] = true
	}
	for _, at := range behind.FindAllStringIndex(low, -1) {
		rest := strings.Fields(low[at[1]:])
		for _, r := range rest[:min(4, len(rest))] {
			end := strings.ContainsAny(r[len(r)-1:], ".,;:)")
			if t := analysis.LightStem(strings.Trim(r, "`'.,;:!()")); words[t] {
				out[t] = true
			}
			if end || r == "to" || r == "auf" || r == "but" || r == "sondern" {
				break
			}
		}
	}
	return out
}

// add adds a token.
func (c *claim) add(raw string, first, german bool, stop func(string) bool) {
	trimmed := strings.Trim(raw, ".:!?…'’`–—-")
	if len(trimmed) > longWord || !strings.ContainsFunc(trimmed, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return
	}
	if before, _, ok := strings.Cut(strings.ReplaceAll(trimmed, "’", "'"), "'"); ok && before != "" {
		trimmed = before // "it's", "can't", "Anna's"
	}
	low := fold.Replace(strings.ToLower(trimmed))
	t := token{stem: analysis.LightStem(low), low: low, kind: word}
	switch {
	case numbers()[low], strings.ContainsFunc(trimmed, unicode.IsDigit) && !strings.ContainsFunc(strings.TrimRight(trimmed, "msdhkKMGTBx%"), unicode.IsLetter):
		t.kind = number
	case (analysis.IsStopWord(low) || stop(low)) && !(german && !first && unicode.IsUpper([]rune(trimmed)[0])): // "für Auf"
		t.kind = functionWord
	case analysis.IsCommon(low) && raw[0] != '`':
		t.kind = common
	case strings.ContainsFunc(trimmed, unicode.IsDigit), raw[0] == '`', strings.ContainsAny(trimmed, "_/.#@"), mixedCase(trimmed):
		t.kind = name
	case !first && !german && unicode.IsUpper([]rune(trimmed)[0]), len(trimmed) > 1 && strings.ToUpper(trimmed) == trimmed:
		t.kind = name
	}
	t.named = t.kind == name || t.kind == word && unicode.IsUpper([]rune(trimmed)[0])
	if first && strings.HasSuffix(raw, ":") { // who speaks, or what about
		t.kind, t.named = common, false
	}
	c.tokens = append(c.tokens, t)
	if t.kind != functionWord {
		c.words[t.stem] = true
	}
}

var numbers = sync.OnceValue(func() map[string]bool {
	return analysis.WordSet("two three four five six seven eight nine ten eleven twelve fifteen twenty thirty sixty zwei drei vier funf sechs sieben acht neun zehn elf zwolf zwanzig dreissig")
})

// letters reports whether a part of a compound is a word.
func letters(s string) bool {
	return len(s) > 2 && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && r != '.' })
}

func mixedCase(s string) bool {
	return strings.ContainsFunc(s[1:], unicode.IsUpper) && strings.ContainsFunc(s, unicode.IsLower)
}

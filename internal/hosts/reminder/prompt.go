package reminder

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/recall/search/analysis"
)

// reference is how clearly a prompt refers to earlier work.
type reference int

// The references, from none to the clearest.
const (
	noReference reference = iota
	// asksForFact is a question about something that the user assumes to be
	// known in the project: "which port does our proxy use?"
	asksForFact
	// namesThePast is a prompt about an earlier time: "as we decided", "last
	// week", "that error again".
	namesThePast
)

// pattern returns an expression for any of the pieces as whole words of a folded prompt.
func pattern(pieces ...string) func() *regexp.Regexp {
	return lazyregexp.New(`\b(?:` + strings.Join(pieces, "|") + `)\b`)
}

// pastVerbs are verbs in the past tense for things that people do together in a project.
const pastVerbs = `decided|agreed|settled|chose|chosen|picked|discussed|talked|spoke|said|told|mentioned|fixed|solved|resolved|used|tried|set|went|ended|` +
	`concluded|found|ran|hit|saw|had|wrote|written|added|changed|made|removed|deleted|dropped|banned|ruled|deployed|debugged|investigated|diagnosed|measured|` +
	`benchmarked|worked|did|done|left|stopped|called|named|put|got|gave|given|needed|moved|switched|kept|rejected|planned|noted|promised|shipped|released|` +
	`merged|reverted|rolled|renamed|bumped|pinned|configured|installed|built|migrated|traced|tracked|landed|came|thought|wanted|learned|learnt|figured|` +
	`established|standardised|standardized|capped|limited|raised|lowered|increased|reduced|disabled|enabled|turned|started|introduced|created|documented|` +
	`implemented|proposed|suggested|recommended|considered|ditched|abandoned|postponed|deferred|skipped|broke|cut|sent|asked|explained|showed|reported|opened|` +
	`closed|filed|scheduled|assigned|patched|worked out|committed|pushed|extracted|split|replaced|compared|estimated|tuned|tested`

// couldHave are modal verbs of German in the past tense, folded.
const couldHave = `wollten?|mussten?|durften?|konnten?|sollten?`

var past = pattern(
	`(?:last|previous|prior|earlier) (?:time|session|sessions|week|month|year|night|sprint|conversation|chat|attempt|round|discussion|run|release|meeting|call|monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekend)`,
	`yesterday|previously|earlier|already|originally|formerly|initially|eventually|the other day|back then|back when|a while (?:ago|back)|`+
		`(?:minutes?|hours?|days?|weeks?|months?) (?:ago|back|before)|ages ago|this morning|in the past|at the time|so far`,
	`remember|remembered|you know|remind|recall|forgot|forgotten|recap|refresh my memory`,
	`(?:did|have|had|were|haven't|hadn't|didn't) (?:we|you|i)`, `(?:was|wasn't) (?:i|there)`,
	`(?:we|you|i|i've|we've|you've|i'd|we'd|you'd)(?: had| have)?(?: \w+ly| ever| then| just| once| both| all| already| both)? (?:`+pastVerbs+`)`,
	`again|once more|as before|like before|as usual|(?:as|like|than|the way) (?:we|you|i|last)|the same|same \w+ (?:as|we|you|i)|this time`,
	`pick(?:ing)? up|left off|carry on|continue|resume|(?:go|going|get|getting|switch|come|coming) back to|back to (?:the|that|our)|`+
		`still (?:failing|broken|open|pending|happening|there)|is back|are back|came back|keeps? \w+ing|resurfaced|regressed|follow(?:ing)? up`,
	`the (?:decision|agreement|conclusion|outcome|verdict|consensus|reasoning|rationale|root cause|workaround|culprit)`,
	`(?:what|which|who|whose|why|when|where|how)(?: \w+){0,5}? (?:was|were|did|had)`, `(?:what|who|where|why|when|how)(?:'d)`,
	`letzte[nsrm]? (?:mal|woche|monat|jahr|nacht|sitzung|runde|besprechung|versuch|release)|vorige[nsrm]? \w+|gestern|vorgestern|neulich|kurzlich|vorhin|damals|zuletzt|fruher|`+
		`noch ?mal|noch einmal|schon (?:mal|einmal)|bereits|wieder|wie (?:zuvor|vorher|gehabt|besprochen|vereinbart|ublich)|seit (?:der|dem)`,
	`erinner\w*|weisst du noch|vergessen|stehen geblieben|weitermachen|weiter mit|zuruck zu[mr]?|immer noch|die (?:entscheidung|vereinbarung|absprache|ursache)|der beschluss|wie(?: \w+){1,8} (?:besprochen|vereinbart|beschlossen)`,
	`(?:haben|hatten|habe|hatte|hast|hattest|sind|waren|`+couldHave+`) (?:wir|ich|du|ihr)|(?:wir|ich|du|ihr) (?:haben|hatten|habe|hatte|hast|hattest|`+couldHave+`)`,
	`(?:was|welche[rsnm]?|wer|wen|wem|wann|warum|wieso|weshalb|wo|wie)(?: \w+){0,5}? (?:war|waren|wurden?|hatten?|hiess|hiessen|kam|lag|ging|schlug|fehlten?|`+couldHave+`)`,
	`la dernière fois|hier (?:on|nous|soir|matin)|avait-on|avons-nous|la última vez|ayer|decidimos|habiamos|habíamos`,
)

// pastElsewhere is for scripts without spaces or with letters that \b does not match.
var pastElsewhere = []string{"上次", "之前", "昨天", "还记得", "前回", "昨日", "以前", "先週", "지난번", "어제", "прошлый раз", "вчера", "раньше", "мы решили", "décidé"}

// known matches prompts about something that is assumed to be known, asks matches
// questions, and teaches those whose answer is in no project: explanations and advice.
var (
	known = pattern(
		`our|ours|we|us|wir|uns|unser\w*`,
		`(?:the|that) \w+(?: \w+){0,3} (?:we|you|i)`,
		`\w+ was|was (?:the|it|that|this|there|our)|were|wasn't|weren't|waren|wurden?`,
	)
	asks = pattern(
		`what|which|where|when|who|whose|why`,
		`how (?:many|much|long|often|big|large|high)`,
		`welche[rsnm]?|wo|wann|wer|wen|wem|wessen|warum|wieso|weshalb|wor?(?:mit|auf|an|in)`,
		`wie (?:viele?|lange|oft|gross|hoch|weit|heissen|heisst)`,
	)
	teaches = pattern(`(?:what|was) (?:is|are|ist|sind) (?:an?|eine?)`, `differences? between|unterschiede? zwischen`, `stands? for`, `means|does \w+ mean|bedeutet`, `should (?:an?|i|one)|sollte (?:man|ich)|explain|erklare?`)
)

// refers returns how clearly a prompt refers to earlier work.
func refers(prompt string) reference {
	low := fold(prompt)
	switch {
	case past().MatchString(low), slices.ContainsFunc(pastElsewhere, func(cue string) bool { return strings.Contains(low, cue) }):
		return namesThePast
	case teaches().MatchString(low):
	case known().MatchString(low), isQuestion(low):
		return asksForFact
	}
	return noReference
}

// isQuestion reports whether a folded prompt asks for a fact: "a page where admins can log in"
// does not.
func isQuestion(low string) bool {
	at := asks().FindStringIndex(low)
	return at != nil && (at[0] < 12 || strings.Contains(low, "?"))
}

var folding = strings.NewReplacer("’", "'", "ä", "a", "ö", "o", "ü", "u", "ß", "ss")

// fold writes a prompt in lower case, with German letters as the index has them: \b matches
// only ASCII.
func fold(prompt string) string { return folding.Replace(strings.ToLower(prompt)) }

// words returns a set of words, which it makes when it is first needed.
func words(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for w := range strings.FieldsSeq(text) {
			set[w] = true
		}
		return set
	})
}

// general are words about the question or the past, which do not tell the subject.
var general = words(`
		last time session sessions week month yesterday earlier previous previously already originally remember remembered remind recall forgot forget recap
		memory ago back again same still before usual once decide decided decision agree agreed agreement settle settled chose choose choice pick picked discuss
		discussed discussion talk talked say said tell told mention mentioned conclude concluded conclusion end ended ending go going went do doing done did
		make made making use used using get getting got give gave given take took want wanted need needed know knew known think thought look looking looked see
		saw find found come came put set let show showed work worked working thing things way ways stuff something anything someone somebody everything
		kind sort    quick quickly really actually exactly finally eventually initially  now      one two ok okay hey hi
		hello thanks thank please sure maybe just also even like good best better great well help question answer  why what which whose who when where
		how explain describe continue resume pick left off carry conversation chat try tried trying    keep keeping kept happen happened
		happening turn turned call called mean meant ask asked wondering wonder check want'd should could would there's it's that's what's i'm we're you're
		convention conventions policy guideline guidelines approach ran
		don't didn't doesn't isn't wasn't can't won't i've we've you've i'd we'd let's against other others
		gestern vorgestern neulich kurzlich vorhin damals nochmal zuletzt fruher bereits schon jetzt wieder beschlossen entschieden vereinbart besprochen gewahlt
		eingestellt geandert umgestellt eingerichtet festgelegt geeinigt gesagt gemacht genommen genannt heisst hiess erinnere erinnern erinnert weisst vergessen
		nimmt gibt muss mussen steht stand steckt liegt lag dauert bekommt haben hatten hatte hast hattest bitte danke kannst konntest machen mach mache lass lassen
		konvention regel regeln vorgabe weiter letzte letzten letzter gefunden nachdem brauchte brauchten wohin woher ging gingen eigentlich dafur dagegen daran darauf davon dazu dabei daruber genau gerade immer wirklich irgendwie uberhaupt sonst
		musste mussten durfte durften konnte konnten sollten mochten wollte sitzung woche monat jahr heute wann warum wieso weshalb welche welcher welches welchen welchem wer wen wem wessen womit worauf woran worin`)

// ordinary are words of every software project, which do not tell the subject.
var ordinary = words(`
		add answer app application arg argument bad big branch break broken bug build case change check class clean cli client code column command commit compile
		config configuration copy correct create data database debug default delete deploy diff difference directory disable doc docs document edit elsewhere empty
		enable end endpoint entry env environment error example exception fail failure feature fetch field file finish fix flag folder format function generate git
		handle handler header hour idea implement import improve information input install instead issue item job json key line link lint linter list load local log
		logic long loop main map merge message method migrate minute mode model module move name new next note null number object old open option order output
		package page parameter parse part pass patch path pattern plan point port pr print problem process production program project prompt proposal pull push
		python query read readme reason refactor reference release remove rename replace report repo repository request response result return revert review rewrite
		row rule run save schema script search second section send server service set setting setup shell short simple size slow small source sql staging start state
		status step stop store string style sum summary support switch syntax system table task test text ticket time timeout todo tool type update upload url user
		value var variable version view wait warning web write wrong yaml
		abfrage abhangigkeit andern anderung anlegen antwort aufgabe aufruf ausfuhren ausgabe befehl beispiel benenne benutzer codierung commits datei dateien daten
		datenbank eingabe einstellung eintrag ergebnis erklare erstelle fehler fehlgeschlagen feld fertig frage funktion funktionieren fuge geht grosse hinzu kaputt klasse
		konfiguration kurzer langsam laufen lauft lesen liste losche loschen meldung methode name nachste nachsten neu neue neuen nummer nutzer ordner paket parser probleme
		programm prufe prufen quelle rolle schicht schlussel schreib schreibe schreiben schritt seite skript spalte speichern starte starten struktur suche tabelle teil
		text umbenennen unterschied ursache verzeichnis weiter wert zeige zeigen zeile zeilen ziel zuruck`)

// isOrdinary reports whether a word, in a common form, is an ordinary one.
func isOrdinary(word string) bool {
	if word = fold(word); analysis.IsGermanStop(word) {
		return true
	}
	for _, ending := range []string{"", "s", "es", "d", "ed", "ing", "er"} {
		if stem, ok := strings.CutSuffix(word, ending); ok && (ordinary()[stem] || ordinary()[stem+"e"]) {
			return true
		}
	}
	return false
}

// Bounds on the part of a prompt that is read: people paste whole logs.
const (
	promptBytes = 2_000
	promptWords = 40
)

// content returns the words that tell the subject of a prompt, without search operators.
func content(prompt string) []string {
	if len(prompt) > promptBytes {
		prompt = strings.ToValidUTF8(prompt[:promptBytes], "")
	}
	var kept []string
	seen := map[string]bool{}
	for _, w := range strings.FieldsFunc(prompt, func(r rune) bool { return strings.ContainsRune(" \t\r\n\v\f\"“”„`", r) }) {
		w = strings.Trim(w, `'’‘()[]{}<>,;:!?.…*+-—–=|#&/\`)
		low := strings.ToLower(strings.ReplaceAll(w, "’", "'"))
		low = strings.TrimSuffix(low, "'s")
		if w == "" || general()[fold(low)] || seen[low] || analysis.IsStopWord(strings.ReplaceAll(low, "'", "")) {
			continue
		}
		seen[low] = true
		if w == "AND" || w == "OR" || w == "NOT" {
			w = low
		}
		if kept = append(kept, w); len(kept) == promptWords {
			break
		}
	}
	return kept
}

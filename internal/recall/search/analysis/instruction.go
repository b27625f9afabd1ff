package analysis

import "slices"

var (
	// ruleWords make a rule of the sentence that they stand in, unless somebody
	// tells of himself or of others with them: "I always forget".
	ruleWords = WordSet("always never whenever immer niemals toujours jamais siempre nunca sempre altijd nooit всегда никогда")
	tellers   = WordSet(`i he she it they who ive id hes shes theyve theyd has have had is are was were will would does did almost nearly as
		ich er sie es sind war waren il elle ils a fue son`)
	ruleRuns = [][]string{
		{"from", "now", "on"}, {"going", "forward"}, {"as", "a", "rule"}, {"every", "time", "you"}, {"each", "time", "you"}, {"make", "sure"},
		{"i", "prefer"}, {"we", "prefer"}, {"id", "prefer"}, {"remember", "to"}, {"do", "not", "ever"}, {"dont", "ever"},
		{"ab", "jetzt"}, {"in", "zukunft"}, {"de", "ahora", "en", "adelante"}, {"à", "partir", "de", "maintenant"},
	}
)

// InstructionCues are words of which every text has one that IsInstruction
// accepts.
const InstructionCues = `always never whenever prefer sure forward rule now ever every each remember
	immer niemals jetzt zukunft toujours jamais maintenant siempre nunca adelante sempre altijd nooit всегда никогда`

// IsInstruction reports whether a text gives an instruction that stands until
// it is changed: "always use tabs", "never deploy on Fridays", "from now on …".
func IsInstruction(text []byte) bool {
	const enough = 4 << 10
	words := PlainWords(text[:min(len(text), enough)])
	for i, w := range words {
		if ruleWords[w] && (i == 0 || !tellers[words[i-1]]) {
			return true
		}
		for _, run := range ruleRuns {
			if w == run[0] && i+len(run) <= len(words) && slices.Equal(words[i:i+len(run)], run) {
				return true
			}
		}
	}
	return false
}

var (
	taskVerbs = WordSet(`let write create make add implement fix build show give help explain generate draft refactor deploy update change design
		plan suggest recommend summarize summarise format prepare configure install run test translate review convert rename remove delete`)
	taskRuns = [][]string{
		{"can", "you"}, {"could", "you"}, {"would", "you"}, {"will", "you"}, {"help", "me"}, {"please"}, {"lets"},
		{"how", "do", "i"}, {"how", "do", "we"}, {"how", "should", "i"}, {"how", "should", "we"}, {"how", "can", "i"}, {"how", "can", "we"},
		{"i", "want", "to"}, {"i", "need", "to"}, {"we", "need", "to"}, {"i", "would", "like"}, {"id", "like"},
	}
)

// AsksToDo reports whether the words of a question ask for work to be done, and
// not for messages.
func AsksToDo(words []string) bool {
	for i, w := range words {
		if i == 0 && taskVerbs[w] {
			return true
		}
		for _, run := range taskRuns {
			if w == run[0] && i+len(run) <= len(words) && slices.Equal(words[i:i+len(run)], run) {
				return true
			}
		}
	}
	return false
}

package analysis

import "testing"

func TestIsInstruction(t *testing.T) {
	for text, want := range map[string]bool{
		"Always use tabs in Go files.":                  true,
		"please never deploy on Fridays":                true,
		"From now on, answer in English.":               true,
		"I prefer short answers.":                       true,
		"Make sure that every test can fail.":           true,
		"Whenever I ask about code, show an example.":   true,
		"Immer Tabs verwenden, niemals Leerzeichen.":    true,
		"I always forget the password.":                 false,
		"She has never been there.":                     false,
		"The server was never restarted, as it was up.": false,
		"Use tabs here.":                                false,
		"":                                              false,
	} {
		if got := IsInstruction([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestAsksToDo(t *testing.T) {
	for question, want := range map[string]bool{
		"Write a function that parses dates":      true,
		"Could you show me how a login is built?": true,
		"how do I deploy this":                    true,
		"please fix the test":                     true,
		"What did you recommend in May?":          false,
		"When did we write the parser?":           false,
		"":                                        false,
	} {
		if got := AsksToDo(PlainWords([]byte(question))); got != want {
			t.Errorf("%q: %v", question, got)
		}
	}
}

// Package sample is a coding session to try things on: several days of work on
// a made-up parcel tracking service, with the tool calls and results, the
// decisions and their reasons, one decision that is reversed later, and an
// incident. `lcm demo` runs on it, and the benchmarks measure on it.
//
// The session is session.jsonl, one message a line in the shape of OpenAI's
// chat messages, each with an id and a time. Beside it, questions.json asks
// about the session; each question names the messages that hold the answer and
// the words in which they give it. A part of the questions avoids the words of
// the answer, so that a search by words alone does not find it.
//
// The people, companies and addresses in the session do not exist.
package sample

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

//go:embed session.jsonl
var session []byte

//go:embed questions.json
var questions []byte

// JSONL returns the session as it stands in the file: one JSON message a line.
func JSONL() []byte { return bytes.Clone(session) }

// Messages returns the session decoded. The messages are the caller's own.
func Messages() []llms.Message {
	var messages []llms.Message
	for line := range bytes.Lines(JSONL()) {
		m, err := decode(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			// The file is part of the program, and a test reads all of it.
			panic(fmt.Sprintf("sample: message %d of the embedded session: %v", len(messages)+1, err))
		}
		messages = append(messages, m)
	}
	return messages
}

func decode(line []byte) (llms.Message, error) {
	format, err := wire.Detect(line)
	if err != nil {
		return llms.Message{}, err
	}
	return wire.Decode(format, "", line)
}

// Question asks about the session.
type Question struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	// Answer occurs word for word in each of the messages of Evidence.
	Answer   string   `json:"answer"`
	Evidence []string `json:"evidence"` // ids of messages
	// Paraphrased questions share few words with their evidence.
	Paraphrased bool `json:"paraphrased"`
}

// Questions returns the questions about the session.
func Questions() []Question {
	var all []Question
	if err := json.Unmarshal(questions, &all); err != nil {
		panic(fmt.Sprintf("sample: the embedded questions: %v", err)) // see Messages
	}
	return all
}

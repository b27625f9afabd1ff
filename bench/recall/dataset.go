package recall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// Dataset is conversations and questions about them, with the messages that
// hold the answers.
type Dataset struct {
	Name          string         `json:"name,omitempty"`
	Conversations []Conversation `json:"conversations"`
	Questions     []Question     `json:"questions"`
}

// Conversation is a sequence of sessions.
type Conversation struct {
	ID       string    `json:"id"`
	Sessions []Session `json:"sessions"`
}

// Session is messages that were exchanged in one sitting.
type Session struct {
	ID       string    `json:"id"`
	Messages []Message `json:"messages"`
}

// Message is one turn. Its ID is unique in its conversation.
type Message struct {
	ID   string    `json:"id"`
	Role string    `json:"role,omitempty"`
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

// Question is asked verbatim, in the scope of its conversation.
type Question struct {
	Conversation string   `json:"conversation"`
	Text         string   `json:"question"`
	Category     string   `json:"category,omitempty"`
	Evidence     []string `json:"evidence"` // ids of the messages that hold the answer
}

// Load reads a dataset: LoCoMo's JSON, or this package's own format as one JSON
// object or as JSON lines (see the package documentation).
func Load(path string) (Dataset, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Dataset{}, fmt.Errorf("read dataset: %w", err)
	}
	d, err := Parse(data)
	if err != nil {
		return Dataset{}, fmt.Errorf("dataset %s: %w", path, err)
	}
	if d.Name == "" {
		d.Name = filepath.Base(path)
	}
	return d, nil
}

// Parse reads a dataset in any of the formats that Load accepts.
func Parse(data []byte) (Dataset, error) {
	data = bytes.TrimSpace(data)
	var d Dataset
	var err error
	switch {
	case len(data) == 0:
		return d, fmt.Errorf("empty file")
	case data[0] == '[':
		d, err = parseLoCoMo(data)
	default:
		d, err = parseEvidence(data)
	}
	if err != nil {
		return d, err
	}
	return d, d.validate()
}

// line is one value of the evidence format: a whole dataset, or a conversation,
// or a question.
type line struct {
	Dataset
	ID           string    `json:"id"`
	Sessions     []Session `json:"sessions"`
	Conversation string    `json:"conversation"`
	Text         string    `json:"question"`
	Category     string    `json:"category"`
	Evidence     []string  `json:"evidence"`
}

func parseEvidence(data []byte) (Dataset, error) {
	var d Dataset
	dec := json.NewDecoder(bytes.NewReader(data))
	for n := 1; dec.More(); n++ {
		var l line
		if err := dec.Decode(&l); err != nil {
			return d, fmt.Errorf("value %d: %w", n, err)
		}
		d.Conversations = append(d.Conversations, l.Conversations...)
		d.Questions = append(d.Questions, l.Questions...)
		if l.Name != "" {
			d.Name = l.Name
		}
		switch {
		case l.Sessions != nil:
			d.Conversations = append(d.Conversations, Conversation{l.ID, l.Sessions})
		case l.Text != "":
			d.Questions = append(d.Questions, Question{l.Conversation, l.Text, l.Category, l.Evidence})
		case l.Conversations == nil && l.Questions == nil && l.Name == "":
			return d, fmt.Errorf("value %d is neither a conversation (sessions) nor a question (question)", n)
		}
	}
	return d, nil
}

func (d *Dataset) validate() error {
	conversations := make(map[string]bool)
	for _, c := range d.Conversations {
		if conversations[c.ID] {
			return fmt.Errorf("conversation %q appears twice", c.ID)
		}
		conversations[c.ID] = true
		ids := make(map[string]bool)
		for _, s := range c.Sessions {
			for _, m := range s.Messages {
				if ids[m.ID] {
					return fmt.Errorf("message %q appears twice in conversation %q", m.ID, c.ID)
				}
				ids[m.ID] = true
			}
		}
	}
	for _, q := range d.Questions {
		if !conversations[q.Conversation] {
			return fmt.Errorf("question %q is about conversation %q, which is not in the data", q.Text, q.Conversation)
		}
	}
	if len(d.Conversations) == 0 || len(d.Questions) == 0 {
		return fmt.Errorf("%d conversations and %d questions: nothing to measure", len(d.Conversations), len(d.Questions))
	}
	return nil
}

// locomoSample is one conversation of LoCoMo.
type locomoSample struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           []struct {
		Question string   `json:"question"`
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	} `json:"qa"`
}

type locomoTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

// locomoCategories are the names of LoCoMo's numbers.
var locomoCategories = map[int]string{
	1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial",
}

var evidenceID = lazyregexp.New(`D\d+:\d+`)

func parseLoCoMo(data []byte) (Dataset, error) {
	var samples []locomoSample
	if err := json.Unmarshal(data, &samples); err != nil {
		return Dataset{}, err
	}
	d := Dataset{}
	for _, s := range samples {
		c, err := s.conversation()
		if err != nil {
			return d, fmt.Errorf("sample %s: %w", s.ID, err)
		}
		d.Conversations = append(d.Conversations, c)
		for _, qa := range s.QA {
			q := Question{Conversation: s.ID, Text: qa.Question, Category: locomoCategories[qa.Category]}
			// Some entries hold several ids in one string.
			for _, e := range qa.Evidence {
				q.Evidence = append(q.Evidence, evidenceID().FindAllString(e, -1)...)
			}
			d.Questions = append(d.Questions, q)
		}
	}
	return d, nil
}

func (s locomoSample) conversation() (Conversation, error) {
	c := Conversation{ID: s.ID}
	var numbers []int
	for key := range s.Conversation {
		if n, err := strconv.Atoi(strings.TrimPrefix(key, "session_")); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		key := fmt.Sprintf("session_%d", n)
		var turns []locomoTurn
		if err := json.Unmarshal(s.Conversation[key], &turns); err != nil {
			return c, fmt.Errorf("%s: %w", key, err)
		}
		var stamp string
		if raw, ok := s.Conversation[key+"_date_time"]; ok {
			if err := json.Unmarshal(raw, &stamp); err != nil {
				return c, fmt.Errorf("%s_date_time: %w", key, err)
			}
		}
		at, err := time.Parse("3:04 pm on 2 January, 2006", stamp)
		if err != nil {
			return c, fmt.Errorf("%s_date_time: %w", key, err)
		}
		c.Sessions = append(c.Sessions, locomoSession(key, turns, at))
	}
	return c, nil
}

// locomoSession writes each turn as an importer of chats does: the speaker's
// name before the text, the caption of a shared image after it. Turns are half a
// minute apart, since only the session's time is known. Both speakers are people.
func locomoSession(id string, turns []locomoTurn, at time.Time) Session {
	s := Session{ID: id}
	for i, t := range turns {
		text := t.Speaker + ": " + t.Text
		if t.Caption != "" {
			text += " [shared image: " + t.Caption + "]"
		}
		s.Messages = append(s.Messages, Message{t.ID, "user", at.Add(time.Duration(i) * 30 * time.Second), text})
	}
	return s
}

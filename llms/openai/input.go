package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
)

// The items of a Responses request. They are written here because the API has
// a shape of its own, in which one message may be several items.
type (
	messageItem struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		Content []any  `json:"content"`
	}
	textContent struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	imageContent struct {
		Type     string `json:"type"`
		ImageURL string `json:"image_url"`
		Detail   string `json:"detail"`
	}
	fileContent struct {
		Type     string `json:"type"`
		Filename string `json:"filename,omitempty"`
		FileData string `json:"file_data,omitempty"`
		FileURL  string `json:"file_url,omitempty"`
	}
	callItem struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	resultItem struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output any    `json:"output"`
	}
	reasoningItem struct {
		Type             string        `json:"type"`
		ID               string        `json:"id"`
		Summary          []textContent `json:"summary"`
		EncryptedContent string        `json:"encrypted_content"`
	}
	// reasoningMark is the Extra of a reasoning part of this API. It distinguishes
	// the part from the reasoning of other providers, whose signatures are of no
	// use here.
	reasoningMark struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
)

// errorsInWords returns the messages with every failed tool result saying so in
// its text: neither API has another place for it.
func errorsInWords(ms []llms.Message) []llms.Message {
	out := slices.Clone(ms)
	for i, m := range out {
		for j, p := range m.Parts {
			if p.Kind != llms.PartToolResult || p.Result == nil || !p.Result.IsError {
				continue
			}
			failed := *p.Result
			failed.Output = errorOutput(failed.Output)
			out[i].Parts = slices.Clone(out[i].Parts)
			out[i].Parts[j].Result = &failed
		}
	}
	return out
}

func errorOutput(parts []llms.Part) []llms.Part {
	if len(parts) == 0 || parts[0].Kind != llms.PartText || parts[0].Ref != nil {
		said := llms.Part{Kind: llms.PartText, Text: core.ErrorPrefix + "the tool failed"}
		return append([]llms.Part{said}, parts...)
	}
	said := parts[0]
	if said.Text = strings.TrimSpace(said.Text); said.Text == "" {
		said.Text = "the tool failed"
	}
	if strings.HasPrefix(said.Text, core.ErrorPrefix) {
		return parts
	}
	said.Text = core.ErrorPrefix + said.Text
	return append([]llms.Part{said}, parts[1:]...)
}

// inputItems writes a conversation as items.
func inputItems(ms []llms.Message) ([]any, error) {
	var items []any
	for i, m := range ms {
		if !m.Role.Valid() {
			return nil, fmt.Errorf("message %d has the unknown role %q", i, m.Role)
		}
		items = append(items, messageItems(m)...)
	}
	return items, nil
}

// messageItems writes one message in order: texts and blobs in one item, calls,
// results and reasoning in items of their own.
func messageItems(m llms.Message) []any {
	role, textType := "user", "input_text"
	if m.Role == llms.RoleAssistant {
		role, textType = "assistant", "output_text"
	}
	var items []any
	var said *messageItem
	say := func(content any) {
		if said == nil {
			said = &messageItem{Type: "message", Role: role}
			items = append(items, said)
		}
		said.Content = append(said.Content, content)
	}
	for _, p := range m.Parts {
		switch {
		case p.Kind == llms.PartToolCall && p.Call != nil:
			items, said = append(items, callItem{"function_call", p.Call.ID, p.Call.Name, p.Call.Arguments}), nil
		case p.Kind == llms.PartToolResult && p.Result != nil:
			items, said = append(items, resultItem{"function_call_output", p.Result.CallID, resultContent(p.Result)}), nil
		case p.Kind == llms.PartReasoning:
			if it, ok := ownReasoning(p); ok {
				items, said = append(items, it), nil
			}
		case p.Kind == llms.PartBlob && p.Blob != nil && role == "user" && p.Ref == nil:
			say(blobContent(p.Blob))
		default:
			if text := shown(p); text != "" {
				say(textContent{textType, text})
			}
		}
	}
	return items
}

// resultContent writes the output of a tool. Text alone becomes a string, since not
// every server takes a list.
func resultContent(r *llms.ToolResult) any {
	var content []any
	var texts []string
	for _, p := range r.Output {
		if p.Kind == llms.PartBlob && p.Blob != nil && p.Ref == nil {
			content = append(content, blobContent(p.Blob))
		} else if text := shown(p); text != "" {
			content = append(content, textContent{"input_text", text})
			texts = append(texts, text)
		}
	}
	if len(texts) == len(content) {
		return strings.Join(texts, "\n\n")
	}
	return content
}

func blobContent(b *llms.Blob) any {
	url := b.URL
	if len(b.Data) > 0 {
		url = "data:" + b.MIME + ";base64," + base64.StdEncoding.EncodeToString(b.Data)
	}
	if isImage(b.MIME) {
		return imageContent{"input_image", url, "auto"}
	}
	if len(b.Data) > 0 {
		return fileContent{Type: "input_file", Filename: b.Name, FileData: url}
	}
	return fileContent{Type: "input_file", Filename: b.Name, FileURL: url}
}

// shown is a part as a reader of a transcript sees it.
func shown(p llms.Part) string { return llms.Message{Parts: []llms.Part{p}}.Render() }

func isImage(mime string) bool { return strings.HasPrefix(mime, "image/") }

func ownReasoning(p llms.Part) (reasoningItem, bool) {
	var mark reasoningMark
	if len(p.Extra) == 0 || json.Unmarshal(p.Extra, &mark) != nil || mark.Type != "reasoning" || p.Signature == "" {
		return reasoningItem{}, false
	}
	it := reasoningItem{Type: "reasoning", ID: mark.ID, Summary: []textContent{}, EncryptedContent: p.Signature}
	if p.Text != "" {
		it.Summary = append(it.Summary, textContent{"summary_text", p.Text})
	}
	return it, true
}

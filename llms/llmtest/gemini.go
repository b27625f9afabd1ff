package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// gemini answers requests of Gemini's API. Model and method are in the path:
// gemini-2.5-pro:streamGenerateContent.
func (h *Handler) gemini(w http.ResponseWriter, r *http.Request) {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	decode := func(body []byte) (wireRequest, error) {
		request, err := decodeGemini(body)
		request.Model, request.Stream = model, method == "streamGenerateContent"
		return request, err
	}
	h.face(face{
		name:    "gemini",
		decode:  decode,
		frames:  geminiFrames,
		whole:   geminiWhole,
		failure: geminiFailure,
		broken:  func(f *Fault) frame { return frame{data: geminiFailure(f)} },
	})(w, r)
}

func decodeGemini(body []byte) (wireRequest, error) {
	var in struct {
		Contents []json.RawMessage `json:"contents"`
		System   struct {
			Parts json.RawMessage `json:"parts"`
		} `json:"systemInstruction"`
		Tools []struct {
			Functions []geminiTool `json:"functionDeclarations"`
		} `json:"tools"`
		Config struct {
			MaxTokens   int      `json:"maxOutputTokens"`
			Temperature *float64 `json:"temperature"`
			Stop        []string `json:"stopSequences"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return wireRequest{}, fmt.Errorf("the request is not JSON of Gemini's API: %w", err)
	}
	r := wireRequest{Request: llms.Request{
		System: joinedText(in.System.Parts), MaxTokens: in.Config.MaxTokens, Temperature: in.Config.Temperature, Stop: in.Config.Stop,
	}}
	var err error
	if r.Messages, err = decodeMessages(llms.FormatGemini, in.Contents); err != nil {
		return wireRequest{}, err
	}
	for _, tool := range in.Tools {
		for _, f := range tool.Functions {
			if f.Parameters == nil {
				f.Parameters = f.Schema
			}
			r.Tools = append(r.Tools, llms.ToolSpec{Name: f.Name, Description: f.Description, Parameters: f.Parameters})
		}
	}
	return r, nil
}

type geminiTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Schema      json.RawMessage `json:"parametersJsonSchema"`
}

func geminiFailure(f *Fault) any {
	status := "INTERNAL"
	if f.Status < 500 {
		status = "INVALID_ARGUMENT"
	}
	return object{"error": object{"code": f.Status, "message": f.Message, "status": cmp.Or(f.Code, status)}}
}

func geminiFinish(s llms.StopReason) string {
	switch s {
	case llms.StopLength:
		return "MAX_TOKENS"
	case llms.StopRefusal:
		return "SAFETY"
	}
	return "STOP"
}

// geminiAnswer is a whole answer, or an event of a stream. Every event has the usage.
func geminiAnswer(r wireRequest, reply Reply, finish string, parts ...any) object {
	candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	u := reply.Usage
	return object{
		"candidates": []any{candidate}, "modelVersion": r.Model, "responseId": reply.ID,
		"usageMetadata": object{
			"promptTokenCount": u.InputTokens, "cachedContentTokenCount": u.CacheReadTokens,
			"candidatesTokenCount": u.OutputTokens, "totalTokenCount": u.Total(),
		},
	}
}

// geminiParts returns the parts of a reply, texts in pieces.
func geminiParts(reply Reply) (parts []any) {
	for _, text := range pieces(reply.Reasoning) {
		parts = append(parts, object{"text": text, "thought": true})
	}
	for _, text := range pieces(reply.Text) {
		parts = append(parts, object{"text": text})
	}
	for _, call := range reply.Calls {
		var args any = call.Arguments
		if json.Valid([]byte(call.Arguments)) {
			args = json.RawMessage(call.Arguments)
		}
		parts = append(parts, object{"functionCall": object{"id": call.ID, "name": call.Name, "args": args}})
	}
	return parts
}

func geminiFrames(r wireRequest, reply Reply) (frames []frame) {
	for _, part := range geminiParts(reply) {
		frames = append(frames, frame{data: geminiAnswer(r, reply, "", part), piece: true})
	}
	return append(frames, frame{data: geminiAnswer(r, reply, geminiFinish(reply.Stop), object{"text": ""})})
}

func geminiWhole(r wireRequest, reply Reply) any {
	return geminiAnswer(r, reply, geminiFinish(reply.Stop), geminiParts(reply)...)
}

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
)

// geminiPath stands for the paths of Gemini's API, which name the model.
const geminiPath = ":generateContent"

type geminiRequest struct {
	Contents []json.RawMessage `json:"contents"`
	System   json.RawMessage   `json:"systemInstruction"`
	Tools    json.RawMessage   `json:"tools"`
}

type geminiContent struct {
	Role  string `json:"role"`
	Parts []struct {
		Call     *geminiCall `json:"functionCall"`
		Response *geminiCall `json:"functionResponse"`
	} `json:"parts"`
}

type geminiCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// checkGemini checks a request of Gemini's API.
func checkGemini(body []byte, _ issuedSignatures) (apiVerdict, error) {
	var in geminiRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return apiVerdict{}, fmt.Errorf("the request is not JSON of Gemini's API: %w", err)
	}
	v := apiVerdict{model: "gemini", items: len(in.Contents), blocks: []cacheBlock{{role: "tools", raw: in.Tools}, {role: "system", raw: in.System}}}
	open := map[geminiCall]bool{} // the calls of the content before
	for i, raw := range in.Contents {
		var c geminiContent
		if err := json.Unmarshal(raw, &c); err != nil {
			return v, fmt.Errorf("contents[%d]: %w", i, err)
		}
		v.blocks = append(v.blocks, cacheBlock{role: "contents", raw: raw})
		switch {
		case c.Role != "user" && c.Role != "model":
			return v, fmt.Errorf("contents[%d].role: use a valid role: user, model", i)
		case i == 0 && c.Role != "user":
			return v, errors.New("contents[0].role: the first content is not the user's")
		case len(c.Parts) == 0:
			return v, fmt.Errorf("contents[%d].parts must not be empty", i)
		}
		calls := map[geminiCall]bool{}
		for _, p := range c.Parts {
			switch {
			case p.Call != nil && c.Role == "user" || p.Response != nil && !open[*p.Response]:
				return v, fmt.Errorf("contents[%d]: a function response turn comes not immediately after a function call turn", i)
			case p.Call != nil:
				calls[*p.Call] = true
			case p.Response != nil:
				delete(open, *p.Response)
			}
		}
		if len(open) > 0 {
			return v, fmt.Errorf("contents[%d]: the number of function response parts is not equal to the number of function call parts of the function call turn", i)
		}
		open = calls
	}
	if len(open) > 0 {
		return v, errors.New("contents: the last calls have no responses")
	}
	return v, nil
}

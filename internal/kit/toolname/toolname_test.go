package toolname_test

import (
	"testing"

	"github.com/lossless-context/lcm/internal/kit/toolname"
)

func TestIsSearch(t *testing.T) {
	if !toolname.IsSearch("ToolSearch", `{"query":"select:lcm___lcm_grep"}`) || !toolname.IsSearch("tool_search", `{"query":"lcm"}`) ||
		!toolname.IsSearch("expand", `{"subject_type":"tool","subject_name":"lcm_grep"}`) {
		t.Error("a search for lcm's tools is none")
	}
	if toolname.IsSearch("ToolSearch", `{"query":"linear issue"}`) || toolname.IsSearch("Grep", `{"query":"lcm"}`) || toolname.IsSearch("expand", `{"subject_type":"tool","subject_name":"bash"}`) {
		t.Error("another search is one for lcm's tools")
	}
}

func TestIsOwn(t *testing.T) {
	for name, own := range map[string]bool{
		"lcm_grep": true, "mcp__lcm__lcm_grep": true, "mcp__my-memory__lcm_describe": true, "lcm_lcm_expand_query": true, "mcp__lcm__lcm_expand": true,
		"lcm-lcm_grep": true, "mcp_lcm_lcm_grep": true, "xlcm_grep": false, "mcp__lcm__expand": true, "lcm-expand": true, "lcm_expand": true, "expand": false, "lcm___expand": true, "lcm___lcm_grep": true,
		"grep": false, "lcm": false, "mcp__lcm__grep": false, "lcm_lcm_": false, "bash": false, "": false,
	} {
		if got := toolname.IsOwn(name); got != own {
			t.Errorf("%q: %v", name, got)
		}
	}
}

package core

import (
	"fmt"
	"strings"
)

// The headings of a tool's text; see [ParseToolInfo].
const (
	headDescription     = "# Description"
	headAdvanced        = "# Advanced"
	headTroubleshooting = "# Troubleshooting"
)

// ParseToolInfo reads the descriptions of a tool from one text, such as an
// embedded file. The text has up to three parts, each under a heading on a line of
// its own:
//
//	# Description
//	One line.
//	# Advanced
//	…
//	# Troubleshooting
//	…
//
// Blank lines around a part are cut off; inside, it is kept byte for byte.
func ParseToolInfo(name, text string) (ToolInfo, error) {
	info := ToolInfo{Name: name}
	parts := map[string]*string{
		headDescription: &info.Description, headAdvanced: &info.Advanced, headTroubleshooting: &info.Troubleshooting,
	}
	var part *string
	for line := range strings.Lines(text) {
		heading := strings.TrimRight(line, " \t\r\n")
		if found, ok := parts[heading]; ok {
			if *found != "" {
				return ToolInfo{}, fmt.Errorf("text of tool %q: heading %q occurs twice", name, heading)
			}
			part = found
			continue
		}
		if part == nil {
			if heading != "" {
				return ToolInfo{}, fmt.Errorf("text of tool %q: %q stands before the first heading", name, heading)
			}
			continue
		}
		*part += line
	}
	for _, p := range parts {
		*p = strings.Trim(*p, "\r\n")
	}
	if info.Description == "" {
		return ToolInfo{}, fmt.Errorf("text of tool %q: there is nothing under %q", name, headDescription)
	}
	if strings.Contains(info.Description, "\n") {
		return ToolInfo{}, fmt.Errorf("text of tool %q: the description must be one line", name)
	}
	return info, nil
}

// MustToolInfo is [ParseToolInfo] for a text that is embedded in the program.
// It panics where the text itself is wrong, and never on input.
func MustToolInfo(name, text string) ToolInfo {
	info, err := ParseToolInfo(name, text)
	if err != nil {
		panic("core.MustToolInfo: " + err.Error())
	}
	return info
}

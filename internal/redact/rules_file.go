package redact

import (
	"fmt"
	"strconv"
	"strings"
)

// ruleFile is a parsed file of rules.
type ruleFile struct {
	rules []*rule
	allow []*allowList // for all rules
}

// parseRules parses the part of TOML that rule files use: tables, and keys with
// strings, numbers and lists of strings. A full TOML parser takes 20 ms for
// gitleaks' file, which every hook would pay; a test compares the two.
func parseRules(text string) (ruleFile, error) {
	var file ruleFile
	var list *allowList
	var last *rule
	p := &ruleParser{text: text}
	for p.skip(); p.at < len(p.text); p.skip() {
		if p.text[p.at] == '[' {
			switch table := p.line(); table {
			case "[[rules]]":
				last, list = &rule{}, nil
				file.rules = append(file.rules, last)
			case "[[rules.allowlists]]":
				list = &allowList{}
				last.allow = append(last.allow, list)
			case "[allowlist]":
				list = &allowList{}
				file.allow = append(file.allow, list)
			default:
				return file, fmt.Errorf("unknown table %q", table)
			}
			continue
		}
		key, values, err := p.member()
		if err != nil {
			return file, err
		}
		switch {
		case list != nil:
			list.set(key, values)
		case last != nil:
			if err := last.set(key, values); err != nil {
				return file, err
			}
		}
	}
	return file, nil
}

func (a *allowList) set(key string, values []string) {
	switch key {
	case "regexTarget":
		a.target = values[0]
	case "condition":
		a.and = strings.EqualFold(values[0], "AND")
	case "regexes":
		a.regexes = values
	case "stopwords":
		a.stopwords = values
	case "paths":
		a.paths = true
	}
}

func (r *rule) set(key string, values []string) (err error) {
	switch key {
	case "id":
		r.id = values[0]
	case "regex":
		r.expr = values[0]
	case "keywords":
		r.keywords = values
	case "prefixes":
		r.prefixes = values
	case "check":
		r.check = values[0]
	case "entropy":
		r.entropy, err = strconv.ParseFloat(values[0], 64)
	case "secretGroup":
		r.group, err = strconv.Atoi(values[0])
	}
	if err != nil {
		return fmt.Errorf("%q is not a number", values[0])
	}
	return nil
}

// ruleParser parses a rule file.
type ruleParser struct {
	text string
	at   int
}

// skip moves past blanks, commas and comments.
func (p *ruleParser) skip() {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '#':
			p.line()
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',':
			p.at++
		default:
			return
		}
	}
}

// line returns the rest of the line without blanks and comment.
func (p *ruleParser) line() string {
	rest, _, _ := strings.Cut(p.text[p.at:], "\n")
	p.at += len(rest)
	rest, _, _ = strings.Cut(rest, "#")
	return strings.TrimSpace(rest)
}

func (p *ruleParser) member() (key string, values []string, err error) {
	name, _, ok := strings.Cut(p.text[p.at:], "=")
	if key = strings.TrimSpace(name); !ok || strings.ContainsAny(key, " \n\"'[]") {
		return "", nil, fmt.Errorf("want a key and a value: %.40q", p.text[p.at:])
	}
	p.at += len(name) + 1
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
	if p.at >= len(p.text) || p.text[p.at] != '[' {
		value, err := p.value()
		return key, []string{value}, err
	}
	p.at++
	for p.skip(); p.at < len(p.text) && p.text[p.at] != ']'; p.skip() {
		value, err := p.value()
		if err != nil {
			return key, nil, err
		}
		values = append(values, value)
	}
	p.at++
	return key, values, nil
}

// value reads a string or a number.
func (p *ruleParser) value() (string, error) {
	rest := p.text[p.at:]
	for _, quote := range []string{`'''`, `'`} {
		if body, ok := strings.CutPrefix(rest, quote); ok {
			value, _, closed := strings.Cut(body, quote)
			if !closed {
				return "", fmt.Errorf("a string does not end: %.40q", rest)
			}
			p.at += len(value) + 2*len(quote)
			return value, nil
		}
	}
	if strings.HasPrefix(rest, `"`) {
		literal, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return "", fmt.Errorf("%.40q: %w", rest, err)
		}
		p.at += len(literal)
		return strconv.Unquote(literal)
	}
	return p.line(), nil
}

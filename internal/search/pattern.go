package search

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/lossless-context/lcm/internal/search/analysis"
)

// maxPatternBytes bounds a pattern; an expression near it is a pasted document.
const maxPatternBytes = 16 << 10

// PatternError says why and where an expression could not be read.
type PatternError struct {
	Pattern  string
	Position int // byte offset of the offending part, or -1
	Reason   string
}

func (e *PatternError) Error() string {
	if e.Position < 0 {
		return fmt.Sprintf("invalid pattern: %s", e.Reason)
	}
	return fmt.Sprintf("invalid pattern at byte %d: %s", e.Position, e.Reason)
}

// Pattern is a regular expression (RE2 syntax) with the trigrams that its
// matches require.
type Pattern struct {
	source string
	re     *regexp.Regexp
	query  *analysis.TrigramQuery

	prog    *syntax.Prog
	literal []byte // that every match contains; may be empty
	prefix  []byte // that every match begins with; may be empty
	whole   bool   // the literal is the expression
}

// ParsePattern reads an expression. Its error is a *PatternError.
func ParsePattern(expr string) (*Pattern, error) {
	if len(expr) > maxPatternBytes {
		return nil, &PatternError{expr, -1, fmt.Sprintf("%d bytes long, the limit is %d", len(expr), maxPatternBytes)}
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, patternError(expr, err)
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, patternError(expr, err)
	}
	p := &Pattern{source: expr, re: re, query: analysis.RequiredTrigrams(tree)}
	tree = tree.Simplify() // which takes repetitions apart
	p.literal, p.whole = requiredLiteral(tree)
	p.prefix = prefixLiteral(tree)
	if p.prog, err = syntax.Compile(tree); err != nil {
		return nil, patternError(expr, err)
	}
	return p, nil
}

func patternError(expr string, err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return &PatternError{expr, -1, err.Error()}
	}
	position := -1
	if se.Expr != "" {
		position = strings.Index(expr, se.Expr)
	}
	return &PatternError{expr, position, fmt.Sprintf("%s: `%s`", se.Code, se.Expr)}
}

// String returns the expression as it was given.
func (p *Pattern) String() string { return p.source }

// Regexp returns the compiled expression.
func (p *Pattern) Regexp() *regexp.Regexp { return p.re }

// Literal returns a text that every match contains. It may be empty. A [Fetch]
// may leave out the text of a document that lacks it.
func (p *Pattern) Literal() []byte { return p.literal }

// Indexed reports whether the index narrows the search. When it does not, every
// text has to be read.
func (p *Pattern) Indexed() bool { return p.query != nil }

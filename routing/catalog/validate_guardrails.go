package catalog

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// What a guardrail does to text that matches, and which way the text goes.
const (
	Block    = "block"  // refuse the exchange
	Redact   = "redact" // replace the match
	LogMatch = "log"    // note the rule's name

	OnInput  = "input"
	OnOutput = "output"
)

// maxPattern bounds a guardrail's expression, in bytes.
const maxPattern = 4096

func (v *validator) guardrails() {
	seen := map[string]string{}
	for i, g := range v.doc.Guardrails {
		path := fmt.Sprintf("guardrails[%d]", i)
		v.text(path+".name", g.Name, "")
		if g.Name == "" {
			v.errorf(path+".name", "missing; refusals name the rule")
		} else if by := seen[g.Name]; by != "" {
			v.errorf(path+".name", "%s is taken by %s; names are unique", quoted(g.Name), by)
		} else {
			seen[g.Name] = path
		}
		v.oneOf(path+".on", g.On, "", OnInput, OnOutput)
		v.oneOf(path+".action", g.Action, required, Block, Redact, LogMatch)
		v.condition(path, &g)
	}
}

// condition checks that a rule says in exactly one way which text it is about.
func (v *validator) condition(path string, g *Guardrail) {
	switch {
	case g.MaxBytes == 0:
		v.pattern(path+".match", g.Match)
	case g.MaxBytes < 0:
		v.errorf(path+".max_bytes", "must not be negative")
	case g.Match != "":
		v.errorf(path+".max_bytes", "give match or max_bytes, not both; two rules can have one each")
	case g.Action == Redact:
		v.errorf(path+".action", "what is too long can be blocked or logged, not redacted")
	}
}

// pattern checks an expression. RE2 matches in linear time, so its length is the
// only bound that it needs.
func (v *validator) pattern(path, text string) {
	switch {
	case text == "":
		v.errorf(path, "missing; give a regular expression (RE2)")
		return
	case len(text) > maxPattern:
		v.errorf(path, "longer than %d bytes", maxPattern)
		return
	}
	match, err := regexp.Compile(text)
	if err != nil {
		v.errorf(path, "not a regular expression (RE2): %s", patternFault(err))
	} else if match.MatchString("") {
		v.warnf(path, "matches empty text, and so everything")
	}
}

// patternFault is what is wrong with an expression, without repeating all of it.
func patternFault(err error) string {
	var fault *syntax.Error
	if errors.As(err, &fault) {
		return fmt.Sprintf("%s near %s", fault.Code, quoted(fault.Expr))
	}
	return "it cannot be compiled"
}

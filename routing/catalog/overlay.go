package catalog

import (
	"slices"
	"strconv"
	"strings"
)

// Overlay is the document with what the environment ("NAME=value" each) says in
// its place: SESSION_KEEPING_ENABLED, SESSION_AUTO_DETECT and
// SESSION_BUILTIN_RULES override; SESSION_HEADER_<n>, numbered from 1, with its
// SESSION_HEADER_<n>_TRANSFORM, comes before the document's headers and instead
// of one of the same name. Empty variables say nothing. The document itself is
// left as it is. The paths of problems are the names of variables; what one of
// them was meant to change stays as the document has it.
func Overlay(doc *Document, environ []string) (*Document, []Problem) {
	env := variables(environ)
	over := *doc
	var found problems
	for name, target := range map[string]*bool{
		"SESSION_KEEPING_ENABLED": &over.Session.Enabled,
		"SESSION_AUTO_DETECT":     &over.Session.AutoDetect,
		"SESSION_BUILTIN_RULES":   &over.Session.BuiltinRules,
	} {
		if env[name] != "" {
			found.boolean(name, env[name], target)
		}
	}
	over.Session.Headers = found.sessionHeaders(env, doc.Session.Headers)
	slices.SortStableFunc(found.list, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return &over, found.list
}

// boolean reads a switch as people write them in environments.
func (p *problems) boolean(name, text string, target *bool) {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on":
		*target = true
	case "false", "0", "no", "off":
		*target = false
	default:
		p.errorf(name, "must be true or false")
	}
}

// sessionHeaders are the numbered headers of an environment, in the order of
// their numbers, and then those of the document that they do not replace.
func (p *problems) sessionHeaders(env map[string]string, documented []SessionHeader) []SessionHeader {
	numbered := map[int]SessionHeader{}
	var numbers []int
	for name, value := range env {
		number, transform, ok := p.sessionVariable(name)
		if !ok {
			continue
		}
		h, seen := numbered[number]
		if !seen {
			numbers = append(numbers, number)
		}
		if transform {
			h.Transform = value
		} else {
			h.Header = value
		}
		numbered[number] = h
	}
	slices.Sort(numbers)
	var headers []SessionHeader
	for _, number := range numbers {
		if h := numbered[number]; p.sessionHeader("SESSION_HEADER_"+strconv.Itoa(number), h, headers) {
			headers = append(headers, h)
		}
	}
	for _, h := range documented {
		if !hasHeader(headers, h.Header) {
			headers = append(headers, h)
		}
	}
	return headers
}

// sessionVariable takes SESSION_HEADER_<n> and SESSION_HEADER_<n>_TRANSFORM
// apart.
func (p *problems) sessionVariable(name string) (number int, transform, ok bool) {
	rest, ok := strings.CutPrefix(name, "SESSION_HEADER_")
	if !ok {
		return 0, false, false
	}
	rest, transform = strings.CutSuffix(rest, "_TRANSFORM")
	number, err := strconv.Atoi(rest)
	if err != nil || number < 1 || number > maxHeaders || strconv.Itoa(number) != rest {
		p.errorf(name, "headers are numbered from 1 to %d, as in SESSION_HEADER_1", maxHeaders)
		return 0, false, false
	}
	return number, transform, true
}

// sessionHeader reports whether a numbered header may be used.
func (p *problems) sessionHeader(name string, h SessionHeader, before []SessionHeader) bool {
	switch {
	case h.Header == "":
		p.errorf(name, "not set, but %s_TRANSFORM is; name the header", name)
	case sessionHeaderProblem(h.Header) != "":
		p.errorf(name, "%s", sessionHeaderProblem(h.Header))
	case hasHeader(before, h.Header):
		p.errorf(name, "the same header as an earlier one; keep one")
	case h.Transform != "" && !slices.Contains(transforms(), h.Transform):
		p.errorf(name+"_TRANSFORM", "must be empty or one of %s", strings.Join(transforms(), ", "))
	default:
		return true
	}
	return false
}

func hasHeader(headers []SessionHeader, name string) bool {
	return slices.ContainsFunc(headers, func(h SessionHeader) bool { return strings.EqualFold(h.Header, name) })
}

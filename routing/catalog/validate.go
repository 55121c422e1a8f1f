package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The most of each that one document may hold.
const (
	maxConnections = 1_000
	maxDeployments = 10_000
	maxNames       = 10_000 // models, groups, templates, organizations, teams, keys
	maxGuardrails  = 200
	maxKeys        = 100 // of one connection
	maxHeaders     = 50
	maxMembers     = 100
	maxChain       = 8 // models that one exchange tries
)

// Validate checks what the shape alone cannot say: references, ranges, names
// that clash. It returns everything that it finds, warnings included.
func (d *Document) Validate() []Problem {
	v := validator{doc: d, names: indexNames(d)}
	v.counts()
	v.session()
	v.affinity()
	v.connections()
	v.deployments()
	v.models()
	v.groups()
	v.templates()
	v.callers()
	v.guardrails()
	return v.list
}

// validator walks one document.
type validator struct {
	problems
	doc   *Document
	names names
}

func (v *validator) counts() {
	if len(v.doc.Connections) == 0 {
		v.errorf("connections", "empty; a gateway needs at least one provider account")
	}
	if len(v.doc.Deployments) == 0 {
		v.errorf("deployments", "empty; a gateway needs at least one deployment to route to")
	}
	for _, c := range []struct {
		path       string
		count, max int
	}{
		{"session.headers", len(v.doc.Session.Headers), maxHeaders},
		{"connections", len(v.doc.Connections), maxConnections},
		{"deployments", len(v.doc.Deployments), maxDeployments},
		{"models", len(v.doc.Models), maxNames},
		{"groups", len(v.doc.Groups), maxNames},
		{"templates", len(v.doc.Templates), maxNames},
		{"organizations", len(v.doc.Organizations), maxNames},
		{"teams", len(v.doc.Teams), maxNames},
		{"keys", len(v.doc.Keys), maxNames},
		{"guardrails", len(v.doc.Guardrails), maxGuardrails},
	} {
		v.atMost(c.path, c.count, c.max)
	}
}

func (v *validator) atMost(path string, count, most int) {
	if count > most {
		v.errorf(path, "%d entries; at most %d are possible", count, most)
	}
}

// session checks the headers that an operator adds to the registry.
func (v *validator) session() {
	seen := map[string]bool{}
	for i, h := range v.doc.Session.Headers {
		path := fmt.Sprintf("session.headers[%d]", i)
		if why := sessionHeaderProblem(h.Header); why != "" {
			v.errorf(path+".header", "%s", why)
		}
		v.oneOf(path+".transform", h.Transform, "", transforms()...)
		if name := strings.ToLower(h.Header); seen[name] && name != "" {
			v.errorf(path+".header", "given twice; keep one")
		} else {
			seen[name] = true
		}
	}
}

// transforms are what may be done to a session header's value.
func transforms() []string { return []string{"session-uuid"} }

// affinity checks lifetimes. A preference that lives for no time is no way to
// switch affinity off, since claims would still be written.
func (v *validator) affinity() {
	a := v.doc.Affinity
	if a.TTL == 0 {
		v.errorf("affinity.ttl", "must be more than 0; to switch affinity off, set affinity.enabled: false")
	}
	v.duration("affinity.ttl", a.TTL)
	v.duration("affinity.retention", a.Retention)
	v.duration("affinity.max_wait", a.MaxWait)
	v.duration("ledger.retention", v.doc.Ledger.Retention)
	if time.Duration(a.MaxWait) > time.Minute {
		v.warnf("affinity.max_wait", "longer than a minute; most clients have given up by then")
	}
}

// duration checks what a document made in code may hold; text is never negative.
func (v *validator) duration(path string, d Duration) {
	if d < 0 {
		v.errorf(path, "a duration must not be negative")
	}
}

// oneOf checks a word against the words that are possible. When preset is not
// empty it is what an absent word stands for.
func (v *validator) oneOf(path, value, preset string, possible ...string) {
	if value == preset || value == "" && preset != required || slices.Contains(possible, value) {
		return
	}
	choice := strings.Join(possible, ", ")
	if value == "" {
		v.errorf(path, "missing; must be one of %s", choice)
		return
	}
	v.errorf(path, "%s is not possible%s Must be one of %s", quoted(value), suggestion(value, possible), choice)
}

// required as oneOf's preset means that the word may not be absent.
const required = "\x00"

// quoted is a value in a message, bounded.
func quoted(value string) string {
	if len(value) > maxNameInPath {
		value = strings.ToValidUTF8(value[:maxNameInPath], "") + "…"
	}
	return fmt.Sprintf("%q", value)
}

// suggestion ends a clause: with the name that was probably meant, or plainly.
func suggestion(text string, names []string) string {
	if s := didYouMean(text, slices.Clone(names)); s != "" {
		return s
	}
	return "."
}

// number checks that a number is finite and not negative.
func (v *validator) number(path string, value float64) {
	switch {
	case !finite(value):
		v.errorf(path, "must be a finite number")
	case value < 0:
		v.errorf(path, "must not be negative")
	}
}

func (v *validator) count(path string, value int) {
	if value < 0 {
		v.errorf(path, "must not be negative; 0 is no limit")
	}
}

func (v *validator) limits(path string, l Limits) {
	v.count(path+".concurrency", l.Concurrency)
	v.count(path+".rpm", l.RPM)
	v.count(path+".tpm", l.TPM)
}

// id checks an identifier and that nobody before has it. Kinds differ in what
// they become: header values, path segments, parts of user_path.
func (v *validator) id(path, id, forbidden string, seen map[string]string) {
	switch {
	case id == "":
		v.errorf(path, "missing")
	case len(id) > maxID:
		v.errorf(path, "longer than %d bytes", maxID)
	case !visibleASCII(id):
		v.errorf(path, "may hold visible ASCII characters only, and no spaces")
	case strings.ContainsAny(id, forbidden):
		v.errorf(path, "must not contain any of %s", forbidden)
	case forbidden != anyCharacter && (id == "." || id == ".."):
		v.errorf(path, "must not be dots alone, which no path can name")
	case seen[id] != "":
		v.errorf(path, "%s is taken by %s; ids are unique", quoted(id), seen[id])
	default:
		seen[id] = path
	}
}

// maxID is the most bytes of an id.
const maxID = 128

// The characters that ids of some kinds must not contain.
const (
	anyCharacter = ""
	noSlash      = "/"
	pathSegment  = `/\?#%&[]"'<>{}|^` + "`;,"
)

// name checks a public name: what a client writes as model.
func (v *validator) name(path, name string) {
	switch {
	case name == "":
		v.errorf(path, "missing")
	case len(name) > maxName:
		v.errorf(path, "longer than %d bytes", maxName)
	case !visible(name):
		v.errorf(path, "must not contain spaces or control characters")
	case name == everything:
		v.errorf(path, `"*" stands for every model and cannot be the name of one`)
	}
}

// maxName is the most bytes of a model's or group's name.
const maxName = 256

// everything is the permission to use every model.
const everything = "*"

// text checks a free text that is logged or becomes part of a key.
func (v *validator) text(path, text, forbidden string) {
	switch {
	case len(text) > maxName:
		v.errorf(path, "longer than %d bytes", maxName)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		v.errorf(path, "must not contain control characters")
	case text != strings.TrimSpace(text):
		v.errorf(path, "must not begin or end with white space")
	case strings.ContainsAny(text, forbidden):
		v.errorf(path, "must not contain any of %s", forbidden)
	}
}

// visible reports that text holds neither white space nor control characters.
func visible(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	})
}

func visibleASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

package affinity

import (
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Target is where an exchange goes: a deployment and the way it was reached.
type Target struct {
	Deployment string        // the deployment's stable id, opaque here
	Model      string        // the public model that the deployment serves
	Pool       string        // the model or group through which it was reached
	Path       []string      // fallback sources walked, in order; empty without fallback
	TTL        time.Duration // lifetime of the preference; 0: the State's default. Not stored
}

// same reports whether both would be stored as the same record.
func (t Target) same(o Target) bool {
	return t.Deployment == o.Deployment && t.Model == o.Model && t.Pool == o.Pool && slices.Equal(t.Path, o.Path)
}

// preference is the stored form of a Target. It holds no provider
// configuration, no session id and no prompt; revision and expiry are the store's.
type preference struct {
	Deployment string   `json:"deployment"`
	Model      string   `json:"model,omitzero"`
	Pool       string   `json:"pool,omitzero"`
	Path       []string `json:"path,omitempty"`
	Endpoint   string   `json:"endpoint,omitzero"` // for those who look at a session's preferences
	Switch     string   `json:"switch,omitzero"`   // random, of the claim or move that chose this target; renewals keep it
}

// encodePreference writes what encode would, without reflection: every renewal
// writes one.
func encodePreference(t Target, endpoint, chosen string) []byte {
	b := make([]byte, 0, 192)
	b = appendText(append(b, `,"deployment":`...), t.Deployment)
	b = appendMember(b, "model", t.Model)
	b = appendMember(b, "pool", t.Pool)
	if len(t.Path) > 0 {
		b = append(b, `,"path":[`...)
		for i, source := range t.Path {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(b, source)
		}
		b = append(b, ']')
	}
	b = appendMember(b, "endpoint", endpoint)
	b = appendMember(b, "switch", chosen)
	b[0] = '{'
	return append(b, '}')
}

// appendMember appends a member of an object behind a comma; none for "".
func appendMember(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(append(append(b, ",\""...), name...), "\":"...)
	return appendText(b, value)
}

// appendText appends a string's JSON form. What is not UTF-8 is made so.
func appendText(b []byte, text string) []byte {
	if printable(text) {
		return append(append(append(b, '"'), text...), '"')
	}
	b, _ = jsontext.AppendQuote(b, text)
	return b
}

// decodePreference returns the target of a live record's value. One that cannot
// be read is none to follow, but its record is still one to compare with: the
// next claim or commit replaces it.
func (s *State) decodePreference(value []byte) (t Target, chosen string, ok bool) {
	if p, plain := plainPreference(value); plain {
		return Target{Deployment: p.Deployment, Model: p.Model, Pool: p.Pool}, p.Switch, true
	}
	var p preference
	if err := json.Unmarshal(value, &p); err != nil || p.Deployment == "" {
		s.log.Warn("affinity: a preference record cannot be read")
		return Target{}, "", false
	}
	return Target{Deployment: p.Deployment, Model: p.Model, Pool: p.Pool, Path: p.Path}, p.Switch, true
}

// plainPreference reads what encodePreference wrote where it holds texts without
// escapes only, as nearly all do: every exchange that is a hit reads two.
func plainPreference(value []byte) (p preference, plain bool) {
	rest := string(value)
	for opening := `{"`; ; opening = `,"` {
		name, after, found := strings.Cut(strings.TrimPrefix(rest, opening), `":"`)
		text, more, ends := strings.Cut(after, `"`)
		if !strings.HasPrefix(rest, opening) || !found || !ends || !printable(text) {
			return preference{}, false
		}
		switch name {
		case "deployment":
			p.Deployment = text
		case "model":
			p.Model = text
		case "pool":
			p.Pool = text
		case "endpoint":
			p.Endpoint = text
		case "switch":
			p.Switch = text
		default:
			return preference{}, false
		}
		if rest = more; rest == "}" {
			return p, p.Deployment != ""
		}
	}
}

// printable reports whether text is visible ASCII that JSON does not escape.
func printable(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// encode returns the stored form of a record made of strings, numbers and
// times; equal records are equal bytes. Text that is not UTF-8 is made so rather
// than refused, so that it cannot fail.
func encode(record any) []byte {
	b, _ := json.Marshal(record, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	return b
}

package ledger

import (
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Filter chooses exchanges. Fields that are zero choose all.
type Filter struct {
	Session    string // scoped- and 32 hex digits
	UserPath   string // itself, and all below it
	Key        string
	Model      string
	Provider   string
	Deployment string
	Label      string
	Status     string    // 200, or 4xx
	From, To   time.Time // From included, To not
}

// Matches reports whether an exchange is chosen.
func (f *Filter) Matches(e *Event) bool {
	return (f.Session == "" || f.Session == e.SessionID) && within(f.UserPath, e.UserPath) &&
		(f.Key == "" || f.Key == e.Key) && (f.Model == "" || f.Model == e.Model) &&
		(f.Provider == "" || f.Provider == e.Provider) && (f.Deployment == "" || f.served(e)) &&
		(f.Label == "" || slices.Contains(e.Labels, f.Label)) && statusIs(f.Status, statusText(e.Status)) &&
		(f.From.IsZero() || !e.Time.Before(f.From)) && (f.To.IsZero() || e.Time.Before(f.To))
}

// served reports whether the deployment served the exchange.
func (f *Filter) served(e *Event) bool { return f.Deployment == e.Deployment }

// within reports whether a path is the wanted one or below it.
func within(wanted, path string) bool {
	if wanted == "" || wanted == path {
		return true
	}
	return strings.HasPrefix(path, strings.TrimSuffix(wanted, "/")+"/")
}

// statusIs compares a status with one like 404 or 4xx.
func statusIs(wanted, status string) bool {
	if class, any := strings.CutSuffix(wanted, "xx"); any {
		return len(status) == 3 && strings.HasPrefix(status, class)
	}
	return wanted == "" || wanted == status
}

// open reports whether nothing but a beginning is asked for.
func (f *Filter) open() bool { return *f == Filter{From: f.From} }

// may reports whether a session can have an exchange that is chosen; false is
// certain.
func (f *Filter) may(digits string, s *session) bool {
	if f.Session != "" && f.Session != sessionPrefix+digits || !f.To.IsZero() && !time.UnixMilli(s.first).Before(f.To) {
		return false
	}
	if s.more {
		return true
	}
	for _, pair := range [...][2]string{
		{seenKey, f.Key}, {seenModel, f.Model}, {seenProvider, f.Provider}, {seenDeployment, f.Deployment}, {seenLabel, f.Label},
	} {
		if pair[1] != "" && !slices.Contains(s.seen, pair[0]+pair[1]) {
			return false
		}
	}
	return slices.ContainsFunc(s.seen, func(one string) bool {
		status, is := strings.CutPrefix(one, seenStatus)
		return is && statusIs(f.Status, status)
	}) && (f.UserPath == "" || slices.ContainsFunc(s.seen, func(one string) bool {
		path, is := strings.CutPrefix(one, seenPath)
		return is && within(f.UserPath, path)
	}))
}

// must reports whether a session that may have an exchange that is chosen has one
// for certain, by what was seen of it alone. What all of its exchanges share needs
// no other look, and of the rest one thing may be asked: two may never have come
// together.
func (f *Filter) must(s *session) bool {
	if s.more || !f.From.IsZero() && time.UnixMilli(s.first).Before(f.From) {
		return false
	}
	asked := 0
	for _, pair := range [...][2]string{{seenKey, f.Key}, {seenStatus, f.Status}} { // every exchange has one of each
		if pair[1] != "" && len(s.names(pair[0])) > 1 {
			asked++
		}
	}
	for _, wanted := range [...]string{f.UserPath, f.Model, f.Provider, f.Deployment, f.Label} {
		if wanted != "" {
			asked++
		}
	}
	if !f.To.IsZero() && time.UnixMilli(s.last+1).After(f.To) { // last is rounded down
		asked++
	}
	return asked <= 1
}

// fingerprint marks the cursors of a list, so that those of another one are
// refused.
func (f *Filter) fingerprint(list string) string {
	text, err := json.Marshal(struct {
		List   string
		Filter Filter
	}{list, *f}, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // texts and times of a filter always encode
	}
	sum := sha256.Sum256(text)
	return string(sum[:6])
}

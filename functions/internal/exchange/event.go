package exchange

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/functions/internal/ledger"
	"holdfast/routing"
)

// Ledger books exchanges.
type Ledger interface {
	// Append books an event once, however often it comes. An error is about the
	// store and was logged.
	Append(context.Context, ledger.Event) error
}

// labelHeader carries a client's own words for what a request belongs to.
const labelHeader = "X-Holdfast-Label"

// explained returns the exchange's event, and puts on its line why it went where
// it went wherever that is not the usual way.
func (e *exchange) explained() ledger.Event {
	why := e.reasons()
	if e.strayed() {
		e.line.Explanation = why
	}
	return e.event(why)
}

// strayed reports whether the exchange left the usual way: its preference did
// not hold, more than one attempt was made, or nobody could serve.
func (e *exchange) strayed() bool {
	return e.line.Passed != "" || len(e.line.Attempts) > 1 || e.plan != nil && len(e.line.Attempts) == 0 && e.found == nil
}

// event is the exchange as the ledger keeps it.
func (e *exchange) event(why jsontext.Value) ledger.Event {
	l := &e.line
	event := ledger.Event{
		ID: "ev_" + strings.TrimPrefix(e.in.ID, "req_"), Time: l.Start, RequestID: l.RequestID,
		SessionSource: l.SessionSource, SessionSignal: l.SessionSignal, Lane: l.Lane, UserPath: l.UserPath, Key: l.KeyID,
		Endpoint: l.Endpoint, Model: l.Model, Affinity: l.Affinity, Template: l.Template, RuleSource: l.RuleSource,
		Deployment: l.Deployment, Connection: l.Connection, Provider: l.Provider, UpstreamModel: l.UpstreamModel,
		Stream: l.Stream, Status: l.Status, ErrorCode: l.ErrorCode,
		FirstByteMS: l.FirstByte.Milliseconds(), DurationMS: l.End.Sub(l.Start).Milliseconds(),
		Cost: e.charged, Saved: e.saved, Labels: ledger.Labels(e.http.Header.Values(labelHeader)),
		Cache: l.Cache, CacheSaved: l.CacheSaved, Explanation: why,
	}
	if l.Session != "" {
		event.SessionID = "scoped-" + l.Session
	}
	if e.plan != nil {
		event.AffinityKey = e.plan.SessionKey()
	}
	if l.Usage != nil {
		used := ledgerUsage(*l.Usage)
		event.Usage = &used
	}
	gratis := true
	for _, a := range l.Attempts {
		one := ledger.Attempt{Deployment: a.Deployment, Outcome: a.Outcome, Status: a.Status, Millis: a.Millis}
		if a.Usage != nil {
			used := ledgerUsage(*a.Usage)
			one.Usage = &used
		}
		gratis = gratis && free(a.Outcome)
		event.Attempts = append(event.Attempts, one)
	}
	gratis = gratis || e.unpaid
	if l.Task != nil {
		event.Task = taskOf(l.Task)
	}
	if event.Usage == nil && gratis {
		event.Usage = &ledger.Usage{}
	}
	if gratis {
		nothing := 0.0
		event.Cost, event.Saved = &ledger.Cost{}, &nothing
	}
	if len(l.Attempts) == 0 { // what was planned has served nobody
		event.Deployment, event.Connection, event.Provider, event.UpstreamModel = "", "", "", ""
	}
	return event
}

// reasons is why an exchange went where it went, bounded.
type reasons struct {
	Record     string              `json:"record,omitempty"` // revision of the preference that was read
	Commit     string              `json:"commit,omitempty"` // what became of it
	Degraded   string              `json:"degraded,omitempty"`
	Strategy   string              `json:"strategy,omitempty"`
	Preference *routing.Preference `json:"preference,omitempty"`
	Spilled    bool                `json:"spilled,omitempty"`
	Refusal    routing.Code        `json:"refusal,omitempty"`
	Candidates []candidate         `json:"candidates"`
	More       int                 `json:"more,omitempty"` // candidates that are left out
}

// candidate is one deployment that was looked at.
type candidate struct {
	Deployment string         `json:"deployment"`
	Chain      string         `json:"chain,omitempty"`
	Kept       bool           `json:"kept"`
	Reason     routing.Reason `json:"reason,omitempty"`
	Rank       int            `json:"rank,omitempty"`
}

// maxCandidates bounds an explanation.
const maxCandidates = 16

// reasons explains the decision; nil where none was made.
func (e *exchange) reasons() jsontext.Value {
	if e.plan == nil || !e.decision.Made() {
		return nil
	}
	found := e.decision.Explain()
	why := reasons{
		Record: e.plan.Revision(), Commit: e.line.Commit, Degraded: e.line.Degraded, Strategy: found.Strategy,
		Preference: found.Preference, Spilled: found.Spilled, Refusal: found.Refusal, Candidates: []candidate{},
	}
	for _, c := range found.Candidates {
		if len(why.Candidates) == maxCandidates {
			why.More++
			continue
		}
		why.Candidates = append(why.Candidates, candidate{c.Deployment, c.Chain, c.Kept, c.Reason, c.Rank})
	}
	text, err := json.Marshal(why)
	if err != nil {
		return nil
	}
	return text
}

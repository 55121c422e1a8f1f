package exchange

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"holdfast/functions/internal/ledger"
	"holdfast/functions/internal/wire/jsonedit"
)

// Ledger books exchanges.
type Ledger interface {
	// Append books an event once, however often it comes. An error is about the
	// store and was logged.
	Append(context.Context, ledger.Event) error
	// Hand is Append, but may leave the event to another Hand that has not
	// returned. What comes then is called once the event is booked, or is not.
	Hand(_ context.Context, _ ledger.Event, then func()) error
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
	if event.Parent = l.Parent; l.Parent != "" && e.session.FromSession {
		event.Parent = "scoped-" + l.Parent
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

// maxCandidates bounds an explanation.
const maxCandidates = 16

// reasons explains the decision, bounded; nil where none was made. Zero members
// are left out but for kept.
func (e *exchange) reasons() jsontext.Value {
	if e.plan == nil || !e.decision.Made() {
		return nil
	}
	found := e.decision.Reasons()
	w := jsonedit.Sized(512)
	w.Object()
	some := func(name, value string) {
		if value != "" {
			w.Name(name).Text(value)
		}
	}
	some("record", e.plan.Revision()) // of the preference that was read
	some("commit", e.line.Commit)     // what became of it
	some("degraded", e.line.Degraded)
	some("strategy", found.Strategy)
	if p := found.Preference; p != nil {
		w.Name("preference").Object().Name("deployment").Text(p.Deployment)
		if p.Required {
			w.Name("required").Bool(true)
		}
		w.Name("kept").Bool(p.Kept)
		some("reason", string(p.Reason))
		w.End()
	}
	if found.Spilled {
		w.Name("spilled").Bool(true)
	}
	some("refusal", string(found.Refusal))
	w.Name("candidates").Array()
	for _, c := range found.Candidates[:min(len(found.Candidates), maxCandidates)] {
		w.Object().Name("deployment").Text(c.Deployment)
		some("chain", c.Chain)
		w.Name("kept").Bool(c.Kept)
		some("reason", string(c.Reason))
		if c.Rank != 0 {
			w.Name("rank").Int(int64(c.Rank))
		}
		w.End()
	}
	w.Close()
	if more := len(found.Candidates) - maxCandidates; more > 0 {
		w.Name("more").Int(int64(more)) // that are left out
	}
	return w.End().Bytes()
}

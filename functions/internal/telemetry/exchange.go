// Package telemetry says what happened: one wide log line an exchange.
//
// Invariants: a line holds ids, names, counts and times, never content, keys,
// or a caller's raw session id; sessions and lanes appear as a short keyed
// hash, equal within one installation.
//
// Concurrency: all functions are safe for use by many goroutines; an Exchange
// belongs to one request.
package telemetry

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"time"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// Exchange gathers the facts of one client request while it is served.
type Exchange struct {
	Start, End    time.Time
	RequestID     string
	KeyID         string
	UserPath      string
	Endpoint      string
	Model         string // as requested, by its configured name
	Stream        bool
	Session       string // hashed
	SessionSource string
	SessionSignal string // the header's or field's name
	Lane          string // hashed
	Parent        string // who started the session or lane, as the client says: a session's id in logs, or a lane
	Affinity      string
	Degraded      string // why the store was not used
	Passed        string // why the preference did not hold
	Template      string
	RuleSource    string
	Deployment    string
	Connection    string
	Provider      string
	UpstreamModel string
	Status        int
	ErrorCode     string
	Guardrails    []string      // that matched, by name
	Limit         string        // of the caller, that refused: its level and what it counts
	FirstByte     time.Duration // from Start to the first upstream output
	Attempts      Attempts
	Usage         *wire.Usage
	Cost          *float64 // USD at the price in force; nil: unknown, which is not zero
	Commit        string   // what the commit did
	Cancelled     bool
	Cache         string   // hit: answered by the gateway's own response cache
	CacheSaved    *float64 // USD that a hit did not cost; nil: unknown, or no hit
	Revision      string   // of the configuration
	TraceParent   string   // the client's header of that name, as it came; for traces only
	Embed         bool     // numbers for CloudWatch go with the line
	Explanation   []byte   // JSON; nil: the exchange went the usual way
	Task          *Task    // a job that this exchange began, or whose end it saw first; nil: none
}

// Task is an asynchronous job as far as its bill goes.
type Task struct {
	Kind       string
	ID         string            // the provider's; a job is billed once under it
	Model      string            // the public model
	Started    time.Time         // its creation
	Parameters map[string]string // those that price it, from its creation
	Known      bool              // false: they are not known, and neither is the price
	Finished   bool              // it has succeeded: to be billed by this exchange; false: it has begun
}

// Attempts are the tries of one exchange, in order.
type Attempts []Attempt

// Attempt is one try at one deployment.
type Attempt struct {
	Deployment string
	Outcome    string // a class's name
	Status     int    // HTTP; 0 where there was none
	Millis     int64
	Usage      *wire.Usage // by the attempt's own word; nil: it gave none
}

// message is the msg of an exchange's line, by which it is found.
const message = "exchange"

// Log writes the exchange's one line. A logger that is not NewLog's gets its
// members as one attribute.
func (e *Exchange) Log(ctx context.Context, log *slog.Logger) {
	if !log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	if own, is := log.Handler().(*handler); is {
		own.lines.exchange(e)
		return
	}
	w := jsonedit.Sized(1024).Object()
	e.members(w)
	log.LogAttrs(ctx, slog.LevelInfo, message, slog.Any("line", json.RawMessage(w.End().Bytes())))
}

// members writes the line's own members into an open object. Those that say
// nothing are left out.
func (e *Exchange) members(w *jsonedit.Writer) {
	some := func(name, value string) {
		if value != "" {
			w.Name(name).Text(value)
		}
	}
	some("request_id", e.RequestID)
	some("key", e.KeyID)
	some("user_path", e.UserPath)
	some("endpoint", e.Endpoint)
	some("model", e.Model)
	w.Name("stream").Bool(e.Stream)
	some("session", e.Session)
	some("session_source", e.SessionSource)
	some("session_signal", e.SessionSignal)
	some("lane", e.Lane)
	some("parent", e.Parent)
	some("affinity", e.Affinity)
	some("degraded", e.Degraded)
	some("preference_passed", e.Passed)
	some("template", e.Template)
	some("rule_source", e.RuleSource)
	some("deployment", e.Deployment)
	some("connection", e.Connection)
	some("provider", e.Provider)
	some("upstream_model", e.UpstreamModel)
	some("commit", e.Commit)
	some("revision", e.Revision)
	w.Name("status").Int(int64(e.Status))
	some("error_code", e.ErrorCode)
	some("limit", e.Limit)
	if len(e.Guardrails) > 0 {
		w.Name("guardrails").Array()
		for _, name := range e.Guardrails {
			w.Text(name)
		}
		w.Close()
	}
	some("cache", e.Cache)
	if e.Cancelled {
		w.Name("cancelled").Bool(true)
	}
	if e.FirstByte > 0 {
		w.Name("ttfb_ms").Int(e.FirstByte.Milliseconds())
	}
	w.Name("duration_ms").Int(e.End.Sub(e.Start).Milliseconds())
	e.results(w)
	if e.Embed {
		e.embed(w)
	}
}

// results writes what came of the exchange, its numbers and its reasons.
func (e *Exchange) results(w *jsonedit.Writer) {
	switch {
	case len(e.Attempts) == 1 && e.Attempts[0].Deployment == e.Deployment: // all else of it stands in the line
		w.Name("outcome").Text(e.Attempts[0].Outcome)
	case len(e.Attempts) > 0:
		w.Name("attempts").Array()
		for i := range e.Attempts {
			e.Attempts[i].write(w)
		}
		w.Close()
	}
	if u := e.Usage; u != nil {
		w.Name("usage").Object().Name("input").Int(u.Input).Name("cache_read").Int(u.CacheRead)
		w.Name("cache_write_5m").Int(u.CacheWrite5m).Name("cache_write_1h").Int(u.CacheWrite1h)
		w.Name("output").Int(u.Output).Name("reasoning").Int(u.Reasoning).Name("estimated").Bool(u.Estimated).End()
	}
	if e.Explanation != nil {
		w.Name("explanation").Raw(e.Explanation)
	}
	if e.Task != nil {
		w.Name("task")
		e.Task.write(w)
	}
	if e.Cost != nil {
		w.Name("cost_usd").Float(*e.Cost)
	}
}

// write shows what a job is, and its size.
func (t *Task) write(w *jsonedit.Writer) {
	w.Object().Name("kind").Text(t.Kind).Name("id").Text(t.ID).Name("finished").Bool(t.Finished)
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		w.Member(name).Text(t.Parameters[name])
	}
	w.End()
}

// write shows one try.
func (a *Attempt) write(w *jsonedit.Writer) {
	w.Object().Name("deployment").Text(a.Deployment).Name("outcome").Text(a.Outcome)
	if a.Status != 0 {
		w.Name("status").Int(int64(a.Status))
	}
	w.Name("ms").Int(a.Millis).End()
}

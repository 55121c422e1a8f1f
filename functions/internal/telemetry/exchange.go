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
	"strconv"
	"time"

	"holdfast/functions/internal/wire"
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

// LogValue shows what a job is, and its size.
func (t *Task) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("kind", t.Kind), slog.String("id", t.ID), slog.Bool("finished", t.Finished)}
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		attrs = append(attrs, slog.String(name, t.Parameters[name]))
	}
	return slog.GroupValue(attrs...)
}

// Attempts are the tries of one exchange, in order.
type Attempts []Attempt

// MarshalJSON writes them without reflection: every exchange has some.
func (a Attempts) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 96*len(a)), '[')
	for i, one := range a {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"deployment":`...)
		b = strconv.AppendQuote(b, one.Deployment) // an id of the configuration: visible ASCII
		b = append(append(append(b, `,"outcome":"`...), one.Outcome...), '"')
		if one.Status != 0 {
			b = strconv.AppendInt(append(b, `,"status":`...), int64(one.Status), 10)
		}
		b = append(strconv.AppendInt(append(b, `,"ms":`...), one.Millis, 10), '}')
	}
	return append(b, ']'), nil
}

// Attempt is one try at one deployment.
type Attempt struct {
	Deployment string
	Outcome    string // a class's name
	Status     int    // HTTP; 0 where there was none
	Millis     int64
	Usage      *wire.Usage // by the attempt's own word; nil: it gave none
}

// Log writes the exchange's one line.
func (e *Exchange) Log(ctx context.Context, log *slog.Logger) {
	if !log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	attrs := make([]slog.Attr, 0, 32)
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	text("request_id", e.RequestID)
	text("key", e.KeyID)
	text("user_path", e.UserPath)
	text("endpoint", e.Endpoint)
	text("model", e.Model)
	attrs = append(attrs, slog.Bool("stream", e.Stream))
	text("session", e.Session)
	text("session_source", e.SessionSource)
	text("session_signal", e.SessionSignal)
	text("lane", e.Lane)
	text("parent", e.Parent)
	text("affinity", e.Affinity)
	text("degraded", e.Degraded)
	text("preference_passed", e.Passed)
	text("template", e.Template)
	text("rule_source", e.RuleSource)
	text("deployment", e.Deployment)
	text("connection", e.Connection)
	text("provider", e.Provider)
	text("upstream_model", e.UpstreamModel)
	text("commit", e.Commit)
	text("revision", e.Revision)
	attrs = append(attrs, slog.Int("status", e.Status))
	text("error_code", e.ErrorCode)
	text("limit", e.Limit)
	if len(e.Guardrails) > 0 {
		attrs = append(attrs, slog.Any("guardrails", e.Guardrails))
	}
	text("cache", e.Cache)
	if e.Cancelled {
		attrs = append(attrs, slog.Bool("cancelled", true))
	}
	if e.FirstByte > 0 {
		attrs = append(attrs, slog.Int64("ttfb_ms", e.FirstByte.Milliseconds()))
	}
	attrs = append(attrs, slog.Int64("duration_ms", e.End.Sub(e.Start).Milliseconds()))
	switch {
	case len(e.Attempts) == 1 && e.Attempts[0].Deployment == e.Deployment: // all else of it stands in the line
		attrs = append(attrs, slog.String("outcome", e.Attempts[0].Outcome))
	case len(e.Attempts) > 0:
		attrs = append(attrs, slog.Any("attempts", e.Attempts))
	}
	if u := e.Usage; u != nil {
		attrs = append(attrs, slog.GroupAttrs("usage",
			slog.Int64("input", u.Input), slog.Int64("cache_read", u.CacheRead),
			slog.Int64("cache_write_5m", u.CacheWrite5m), slog.Int64("cache_write_1h", u.CacheWrite1h),
			slog.Int64("output", u.Output), slog.Int64("reasoning", u.Reasoning), slog.Bool("estimated", u.Estimated)))
	}
	if e.Explanation != nil {
		attrs = append(attrs, slog.Any("explanation", json.RawMessage(e.Explanation)))
	}
	if e.Task != nil {
		attrs = append(attrs, slog.Any("task", e.Task))
	}
	if e.Cost != nil {
		attrs = append(attrs, slog.Float64("cost_usd", *e.Cost))
	}
	if e.Embed {
		attrs = append(attrs, e.embedded()...)
	}
	line := slog.NewRecord(time.Now(), slog.LevelInfo, "exchange", 0) // nobody asks which line of code wrote it
	line.AddAttrs(attrs...)
	_ = log.Handler().Handle(ctx, line)
}

package ledger

import (
	"maps"
	"slices"

	"holdfast/functions/internal/wire/jsonedit"
)

// encode returns the event's JSON, as its tags have it. It is written member by
// member: every exchange has one, and reflection took longer than all else here.
func (e *Event) encode() []byte {
	w := jsonedit.Sized(1024 + len(e.Explanation))
	w.Object()
	text := func(name, value string) { w.Name(name).Text(value) }
	some := func(name, value string) {
		if value != "" {
			text(name, value)
		}
	}
	text("id", e.ID)
	w.Name("time").Time(e.Time)
	text("request_id", e.RequestID)
	text("session_id", e.SessionID)
	text("session_source", e.SessionSource)
	text("session_signal", e.SessionSignal)
	text("lane", e.Lane)
	some("parent", e.Parent)
	some("affinity_key", e.AffinityKey)
	text("user_path", e.UserPath)
	text("key", e.Key)
	text("endpoint", e.Endpoint)
	text("model", e.Model)
	text("affinity", e.Affinity)
	text("template", e.Template)
	some("rule_source", e.RuleSource)
	text("deployment", e.Deployment)
	text("connection", e.Connection)
	text("provider", e.Provider)
	text("upstream_model", e.UpstreamModel)
	w.Name("stream").Bool(e.Stream)
	w.Name("status").Int(int64(e.Status))
	text("error_code", e.ErrorCode)
	w.Name("ttfb_ms").Int(e.FirstByteMS)
	w.Name("duration_ms").Int(e.DurationMS)
	e.lists(w)
	some("cache", e.Cache)
	if e.CacheSaved != nil {
		w.Name("cache_saved_cost").Float(*e.CacheSaved)
	}
	if e.Task != nil {
		w.Name("task")
		e.Task.encode(w)
	}
	if len(e.Explanation) > 0 {
		w.Name("explanation").Raw(e.Explanation)
	}
	return w.End().Bytes()
}

// lists writes what is no plain value.
func (e *Event) lists(w *jsonedit.Writer) {
	w.Name("attempts").Array()
	for i := range e.Attempts {
		e.Attempts[i].encode(w)
	}
	w.Close().Name("usage")
	e.Usage.encode(w)
	w.Name("cost")
	e.Cost.encode(w)
	w.Name("saved_cost")
	if e.Saved == nil {
		w.Raw(nil)
	} else {
		w.Float(*e.Saved)
	}
	w.Name("labels").Array()
	for _, label := range e.Labels {
		w.Text(label)
	}
	w.Close()
}

func (a *Attempt) encode(w *jsonedit.Writer) {
	w.Object().Name("deployment").Text(a.Deployment).Name("outcome").Text(a.Outcome)
	w.Name("status").Int(int64(a.Status)).Name("ms").Int(a.Millis)
	if a.Usage != nil {
		w.Name("usage")
		a.Usage.encode(w)
	}
	w.End()
}

func (t *Task) encode(w *jsonedit.Writer) {
	w.Object().Name("kind").Text(t.Kind).Name("id").Text(t.ID).Name("succeeded").Bool(t.Succeeded)
	if len(t.Parameters) > 0 {
		w.Name("parameters").Object()
		for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
			w.Member(name).Text(t.Parameters[name])
		}
		w.End()
	}
	w.End()
}

func (u *Usage) encode(w *jsonedit.Writer) {
	if u == nil {
		w.Raw(nil)
		return
	}
	w.Object().Name("input").Int(u.Input).Name("cache_read").Int(u.CacheRead)
	w.Name("cache_write_5m").Int(u.CacheWrite5m).Name("cache_write_1h").Int(u.CacheWrite1h)
	w.Name("output").Int(u.Output).Name("reasoning").Int(u.Reasoning).Name("estimated").Bool(u.Estimated).End()
}

func (c *Cost) encode(w *jsonedit.Writer) {
	if c == nil {
		w.Raw(nil)
		return
	}
	w.Object().Name("input").Float(c.Input).Name("cache_read").Float(c.CacheRead)
	w.Name("cache_write").Float(c.CacheWrite).Name("output").Float(c.Output).Name("total").Float(c.Total).End()
}

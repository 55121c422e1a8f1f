package admin

import (
	"net/http"
	"strings"
	"time"

	"holdfast/functions/internal/ledger"
	"holdfast/functions/internal/wire"
)

// auditedSession is one session in the audit log: its latest exchange that is
// chosen, and counts of the whole session.
type auditedSession struct {
	SessionID    string       `json:"session_id"`
	UserPath     string       `json:"user_path"`
	RequestCount int64        `json:"request_count"`
	Deployments  []string     `json:"deployments"` // that have served it
	Models       []string     `json:"models"`      // that were asked for
	Moves        int64        `json:"moves"`
	Failed       int64        `json:"failed"`
	InputTokens  int64        `json:"input_tokens"`
	CachedTokens int64        `json:"cached_tokens"`
	OutputTokens int64        `json:"output_tokens"`
	TotalTokens  int64        `json:"total_tokens"`
	TotalCost    *float64     `json:"total_cost"`
	SavedCost    *float64     `json:"saved_cost"`
	First        time.Time    `json:"first"`
	Last         time.Time    `json:"last"`
	Latest       ledger.Event `json:"latest"`
}

// auditSessions lists sessions, those that were active last first.
func (a *api) auditSessions(w http.ResponseWriter, r *http.Request) {
	page, p, found := a.sessions(w, r, 0)
	if !found {
		return
	}
	entries := make([]auditedSession, len(page.Sessions))
	for i := range page.Sessions {
		s := &page.Sessions[i]
		entries[i] = auditedSession{
			SessionID: s.ID, UserPath: s.UserPath, RequestCount: s.Sums[ledger.Requests], Deployments: s.Deployments, Models: s.Models,
			Moves: s.Sums[ledger.Moved], Failed: s.Sums[ledger.Failed], InputTokens: s.Sums.Prompt(), CachedTokens: s.Sums[ledger.CacheRead],
			OutputTokens: s.Sums[ledger.Output], TotalTokens: s.Sums.Tokens(), TotalCost: s.Sums.Money(ledger.CostParts()...),
			SavedCost: s.Sums.Money(ledger.Saved), First: s.First, Last: s.Last, Latest: s.Latest,
		}
	}
	answerSessions(w, r, []string{"session_id", "user_path", "request_count", "deployments", "models", "moves", "failed", "input_tokens", "cached_tokens",
		"output_tokens", "total_tokens", "total_cost", "saved_cost", "first", "last"}, entries, page, p)
}

// auditLog lists exchanges, of a session or of all, the newest first.
func (a *api) auditLog(w http.ResponseWriter, r *http.Request) {
	f, bad := a.filterOf(r, 0)
	p, worse := pageOf(r)
	for _, problem := range []*wire.Problem{bad, worse} {
		if problem != nil {
			refuse(w, problem)
			return
		}
	}
	page, err := a.Ledger.Events(r.Context(), f, p)
	if err != nil {
		refuse(w, unread(err))
		return
	}
	if !isCSV(r) {
		answerList(w, r, nil, page.Events, page.Next)
		return
	}
	rows := make([]flatEvent, len(page.Events))
	for i := range page.Events {
		rows[i] = flatten(&page.Events[i])
	}
	answerList(w, r, []string{"id", "time", "request_id", "session_id", "session_source", "session_signal", "lane", "user_path", "key", "endpoint", "model", "affinity",
		"template", "deployment", "connection", "provider", "upstream_model", "stream", "status", "error_code", "ttfb_ms", "duration_ms", "attempts",
		"input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens", "reasoning_tokens", "estimated",
		"input_cost", "cache_read_cost", "cache_write_cost", "output_cost", "total_cost", "saved_cost", "labels", "cache", "cache_saved_cost"}, rows, page.Next)
}

// flatEvent is an event as one row of a table.
type flatEvent struct {
	ledger.Event
	Attempts       string   `json:"attempts"`
	Labels         string   `json:"labels"`
	InputTokens    *int64   `json:"input_tokens"`
	CacheRead      *int64   `json:"cache_read_tokens"`
	CacheWrite5m   *int64   `json:"cache_write_5m_tokens"`
	CacheWrite1h   *int64   `json:"cache_write_1h_tokens"`
	OutputTokens   *int64   `json:"output_tokens"`
	Reasoning      *int64   `json:"reasoning_tokens"`
	Estimated      *bool    `json:"estimated"`
	InputCost      *float64 `json:"input_cost"`
	CacheReadCost  *float64 `json:"cache_read_cost"`
	CacheWriteCost *float64 `json:"cache_write_cost"`
	OutputCost     *float64 `json:"output_cost"`
	TotalCost      *float64 `json:"total_cost"`
}

func flatten(e *ledger.Event) flatEvent {
	flat := flatEvent{Event: *e, Labels: strings.Join(e.Labels, ",")}
	tried := make([]string, len(e.Attempts))
	for i, a := range e.Attempts {
		tried[i] = a.Deployment + ":" + a.Outcome
	}
	flat.Attempts = strings.Join(tried, " ")
	if u := e.Usage; u != nil {
		flat.InputTokens, flat.CacheRead, flat.CacheWrite5m, flat.CacheWrite1h = &u.Input, &u.CacheRead, &u.CacheWrite5m, &u.CacheWrite1h
		flat.OutputTokens, flat.Reasoning, flat.Estimated = &u.Output, &u.Reasoning, &u.Estimated
	}
	if c := e.Cost; c != nil {
		flat.InputCost, flat.CacheReadCost, flat.CacheWriteCost, flat.OutputCost, flat.TotalCost = &c.Input, &c.CacheRead, &c.CacheWrite, &c.Output, &c.Total
	}
	return flat
}

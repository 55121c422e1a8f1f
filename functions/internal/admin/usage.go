package admin

import (
	"context"
	"net/http"
	"time"

	"holdfast/functions/internal/ledger"
	"holdfast/functions/internal/wire"
)

// Ledger reports what exchanges used and cost.
type Ledger interface {
	Events(context.Context, ledger.Filter, ledger.Page) (ledger.EventPage, error)
	Sessions(context.Context, ledger.Filter, ledger.Page) (ledger.SessionPage, error)
	Summary(ctx context.Context, f ledger.Filter, step time.Duration) (ledger.Summary, error)
}

// usageDays is how far back reports of usage begin where nothing is said.
const usageDays = 7

// usedSession is one session in the report of usage. Money is USD, null where a
// part of it is not known.
type usedSession struct {
	SessionID    string   `json:"session_id"`
	UserPath     string   `json:"user_path"`
	Requests     int64    `json:"requests"`
	InputTokens  int64    `json:"input_tokens"` // all of them, cached or not
	OutputTokens int64    `json:"output_tokens"`
	TotalTokens  int64    `json:"total_tokens"`
	CachedTokens int64    `json:"cached_tokens"`
	InputCost    *float64 `json:"input_cost"`
	OutputCost   *float64 `json:"output_cost"`
	TotalCost    *float64 `json:"total_cost"`
	SavedCost    *float64 `json:"saved_cost"`
}

func usedBy(s *ledger.Session) usedSession {
	sums := &s.Sums
	return usedSession{
		SessionID: s.ID, UserPath: s.UserPath, Requests: sums[ledger.Requests],
		InputTokens: sums.Prompt(), OutputTokens: sums[ledger.Output], TotalTokens: sums.Tokens(), CachedTokens: sums[ledger.CacheRead],
		InputCost: sums.Money(ledger.CostInput, ledger.CostRead, ledger.CostWrite), OutputCost: sums.Money(ledger.CostOutput),
		TotalCost: sums.Money(ledger.CostParts()...), SavedCost: sums.Money(ledger.Saved),
	}
}

// usageSessions is the report of usage by recent session.
func (a *api) usageSessions(w http.ResponseWriter, r *http.Request) {
	page, p, found := a.sessions(w, r, usageDays)
	if !found {
		return
	}
	entries := make([]usedSession, len(page.Sessions))
	for i := range page.Sessions {
		entries[i] = usedBy(&page.Sessions[i])
	}
	answerSessions(w, r, []string{"session_id", "user_path", "requests", "input_tokens", "output_tokens", "total_tokens", "cached_tokens",
		"input_cost", "output_cost", "total_cost", "saved_cost"}, entries, page, p)
}

// sessions reads a page of sessions. Where it cannot, the client was told.
func (a *api) sessions(w http.ResponseWriter, r *http.Request, days int) (page ledger.SessionPage, p ledger.Page, found bool) {
	f, bad := a.filterOf(r, days)
	p, worse := pageOf(r)
	for _, problem := range []*wire.Problem{bad, worse} {
		if problem != nil {
			refuse(w, problem)
			return page, p, false
		}
	}
	page, err := a.Ledger.Sessions(r.Context(), f, p)
	if err != nil {
		refuse(w, unread(err))
		return page, p, false
	}
	return page, p, true
}

// answerSessions writes a report of sessions: a list that says how many there
// are, exactly as far as that is promised.
func answerSessions[T any](w http.ResponseWriter, r *http.Request, columns []string, entries []T, page ledger.SessionPage, p ledger.Page) {
	if isCSV(r) {
		answerList(w, r, columns, entries, page.Next)
		return
	}
	total := "total"
	if page.AtLeast {
		total = "total_at_least"
	}
	answer(w, map[string]any{"entries": entries, total: page.Total, "limit": p.Limit, "offset": p.Offset, "next_cursor": page.Next})
}

// used is a sum of usage.
type used struct {
	Requests         int64    `json:"requests"`
	Failed           int64    `json:"failed"`
	InputTokens      int64    `json:"input_tokens"` // all of them, cached or not
	FreshTokens      int64    `json:"fresh_tokens"`
	CachedTokens     int64    `json:"cached_tokens"`
	CacheWriteTokens int64    `json:"cache_write_tokens"`
	OutputTokens     int64    `json:"output_tokens"`
	ReasoningTokens  int64    `json:"reasoning_tokens"`
	TotalTokens      int64    `json:"total_tokens"`
	InputCost        *float64 `json:"input_cost"`
	OutputCost       *float64 `json:"output_cost"`
	TotalCost        *float64 `json:"total_cost"`
	SavedCost        *float64 `json:"saved_cost"`
	KnownCost        *float64 `json:"known_cost"` // of what has a known price
	Unpriced         int64    `json:"unpriced_requests"`
	Estimated        int64    `json:"estimated_requests"`
	CacheHitRate     *float64 `json:"cache_hit_rate"` // cached tokens of all input; null without input
	GatewayHits      int64    `json:"gateway_cache_hits"`
	GatewaySaved     *float64 `json:"gateway_cache_saved_cost"`
	Moves            int64    `json:"moves"`
	FirstByteMS      *float64 `json:"ttfb_ms"` // the mean; null without a first byte
}

func usedOf(s *ledger.Sums) used {
	u := used{
		Requests: s[ledger.Requests], Failed: s[ledger.Failed], InputTokens: s.Prompt(), FreshTokens: s[ledger.Input], CachedTokens: s[ledger.CacheRead],
		CacheWriteTokens: s[ledger.CacheWrite5m] + s[ledger.CacheWrite1h], OutputTokens: s[ledger.Output], ReasoningTokens: s[ledger.Reasoning],
		TotalTokens: s.Tokens(), InputCost: s.Money(ledger.CostInput, ledger.CostRead, ledger.CostWrite), OutputCost: s.Money(ledger.CostOutput),
		TotalCost: s.Money(ledger.CostParts()...), SavedCost: s.Money(ledger.Saved), KnownCost: s.Known(ledger.CostParts()...),
		Unpriced: s[ledger.Unpriced], Estimated: s[ledger.Estimated], CacheHitRate: s.HitRate(), GatewayHits: s[ledger.CacheHits], Moves: s[ledger.Moved],
	}
	if s[ledger.CacheUnsure] == 0 {
		u.GatewaySaved = s.Known(ledger.CacheSaved)
	}
	if n := s[ledger.FirstBytes]; n > 0 {
		mean := float64(s[ledger.FirstByteMS]) / float64(n)
		u.FirstByteMS = &mean
	}
	return u
}

// step is one step of a time series.
type step struct {
	Time time.Time `json:"time"`
	used
}

// part is the usage of one model, key or deployment.
type part struct {
	Name string `json:"name"`
	used
	Rates []*float64 `json:"cache_hit_rates,omitempty"` // of a deployment, step by step of the series; null without input
}

func parts(all []ledger.Named) []part {
	shown := make([]part, len(all))
	for i := range all {
		shown[i] = part{all[i].Name, usedOf(&all[i].Sums), all[i].Rates}
	}
	return shown
}

// usageSummary is all that was used in a stretch of time, by its steps, models,
// keys and deployments.
func (a *api) usageSummary(w http.ResponseWriter, r *http.Request) {
	f, p := a.filterOf(r, usageDays)
	if p != nil {
		refuse(w, p)
		return
	}
	if f.To.IsZero() {
		f.To = a.Now()
	}
	by := r.URL.Query().Get("by")
	size := map[string]time.Duration{"day": 24 * time.Hour, "hour": time.Hour, "": 24 * time.Hour}[by]
	if by == "" && f.To.Sub(f.From) <= 48*time.Hour {
		size = time.Hour
	}
	switch {
	case size == 0:
		refuse(w, wire.Refuse(wire.InvalidRequest).About("by").Saying("by must be day or hour."))
		return
	case !f.From.Before(f.To):
		refuse(w, wire.Refuse(wire.InvalidRequest).About("from").Saying("from must not be in the future."))
		return
	}
	found, err := a.Ledger.Summary(r.Context(), f, size)
	if err != nil {
		refuse(w, unread(err))
		return
	}
	series := make([]step, len(found.Series))
	for i := range found.Series {
		series[i] = step{found.Series[i].At, usedOf(&found.Series[i].Sums)}
	}
	if isCSV(r) {
		answerList(w, r, []string{"time", "requests", "failed", "input_tokens", "fresh_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
			"total_tokens", "input_cost", "output_cost", "total_cost", "saved_cost", "known_cost", "unpriced_requests", "estimated_requests", "cache_hit_rate",
			"gateway_cache_hits", "gateway_cache_saved_cost", "moves", "ttfb_ms"}, series, "")
		return
	}
	answer(w, map[string]any{
		"from": found.From, "to": found.To, "by": map[time.Duration]string{time.Hour: "hour", 24 * time.Hour: "day"}[size],
		"totals": usedOf(&found.Totals), "cache_hit_rate": found.Totals.HitRate(), "series": series,
		"by_model": parts(found.Models), "by_key": parts(found.Keys), "by_deployment": parts(found.Deployments), "partial": found.Partial,
	})
}

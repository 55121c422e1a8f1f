package admin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"holdfast/affinity/store"
	"holdfast/functions/internal/admin/trail"
	"holdfast/functions/internal/ledger"
	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// Health is what all processes know of deployments.
type Health interface {
	Rests(context.Context, *catalog.Catalog) (map[string]cooldown.Status, error)
	ChangeRest(ctx context.Context, t *catalog.Target, change func(cooldown.Pool) (cooldown.Pool, bool)) (before, after cooldown.Status, err error)
}

// maxRest bounds how long an operator lets a deployment rest: a drain lasts
// longer.
const maxRest = 7 * 24 * time.Hour

// trafficTime is over how much time shares are counted where nothing is said.
const trafficTime = 24 * time.Hour

// liveDeployment is a deployment with its state.
type liveDeployment struct {
	Deployment    string     `json:"deployment"`
	Model         string     `json:"model"`
	UpstreamModel string     `json:"upstream_model"`
	Connection    string     `json:"connection"`
	Provider      string     `json:"provider"`
	Protocol      string     `json:"protocol"`
	Endpoints     []string   `json:"endpoints"`
	Enabled       bool       `json:"enabled"`
	Weight        float64    `json:"weight"`
	CoolingUntil  *time.Time `json:"cooling_until"` // null: it does not rest
	CoolingReason string     `json:"cooling_reason"`
	Drained       bool       `json:"drained"`
	Failures      int        `json:"failures"`        // that count towards the next rest
	Requests      int64      `json:"requests"`        // of the stretch of time
	TrafficShare  *float64   `json:"traffic_share"`   // of its model's, in that time; null without any
	CacheHitShare *float64   `json:"cache_hit_share"` // of its input tokens, in that time; null without any
	Priced        bool       `json:"priced"`
	PriceDate     string     `json:"price_date"` // of the public list that the price is from; "" where the document gives it
}

// listDeployments is the live state of deployments: all of them, or those of a
// model or a provider. A stretch of time is that whose traffic is counted.
func (a *api) listDeployments(w http.ResponseWriter, r *http.Request) {
	known := a.Snapshot().Catalog
	chosen := a.deploymentsOf(r, known)
	page, next, p := cut(r, chosen, func(t *catalog.Target) string { return t.ID })
	span, bad := a.trafficOf(r)
	for _, p := range []*wire.Problem{p, bad} {
		if p != nil {
			refuse(w, p)
			return
		}
	}
	rests, err := a.Health.Rests(r.Context(), known)
	if err != nil {
		refuse(w, unread(err))
		return
	}
	step := time.Hour
	if span.To.Sub(span.From) > 30*24*time.Hour {
		step = 24 * time.Hour
	}
	sum, err := a.Ledger.Summary(r.Context(), span, step)
	if err != nil {
		refuse(w, unread(err))
		return
	}
	served, perModel := map[string]*ledger.Sums{}, map[string]int64{}
	for i := range sum.Deployments {
		one := &sum.Deployments[i]
		served[one.Name] = &one.Sums
		if t := known.Deployment(one.Name); t != nil {
			perModel[t.Model] += one.Sums[ledger.Requests]
		}
	}
	entries := make([]liveDeployment, len(page))
	for i, t := range page {
		entries[i] = a.live(t, rests[t.ID], served[t.ID], perModel[t.Model])
	}
	answerList(w, r, []string{"deployment", "model", "upstream_model", "connection", "provider", "protocol", "enabled", "weight", "cooling_until", "cooling_reason",
		"drained", "failures", "requests", "traffic_share", "cache_hit_share", "priced", "price_date"}, entries, next)
}

// deploymentsOf are the deployments that are asked for, by model.
func (a *api) deploymentsOf(r *http.Request, known *catalog.Catalog) (chosen []*catalog.Target) {
	q := r.URL.Query()
	provider, deployment, model := q.Get("provider"), q.Get("deployment"), q.Get("model")
	wanted := known.Pool(model)
	for _, pool := range known.Public() {
		if pool.Group() {
			continue
		}
		for _, t := range pool.Deployments {
			member := model == ""
			if wanted != nil {
				_, member = wanted.Position(t.ID)
			}
			if member && (provider == "" || provider == t.Account.Provider) && (deployment == "" || deployment == t.ID) {
				chosen = append(chosen, t)
			}
		}
	}
	return chosen
}

// trafficOf is the stretch of time whose traffic is counted: the last day, if
// nothing is said.
func (a *api) trafficOf(r *http.Request) (ledger.Filter, *wire.Problem) {
	from, to, p := a.spanOf(r, 0)
	if to.IsZero() {
		to = a.Now()
	}
	if from.IsZero() {
		from = to.Add(-trafficTime)
	}
	return ledger.Filter{From: from, To: to}, p
}

func (a *api) live(t *catalog.Target, rest cooldown.Status, sums *ledger.Sums, ofModel int64) liveDeployment {
	d := liveDeployment{
		Deployment: t.ID, Model: t.Model, UpstreamModel: t.UpstreamModel, Connection: t.Account.ID, Provider: t.Account.Provider, Protocol: t.Protocol,
		Endpoints: t.Endpoints(), Enabled: t.Enabled, Weight: t.Weight, Drained: rest.Drained, Failures: rest.Fails,
		Priced: t.Price != nil, PriceDate: t.ListPrice,
	}
	if rest.Cooling(a.Now()) {
		until := rest.Until.UTC()
		d.CoolingUntil, d.CoolingReason = &until, rest.Cause.String()
	}
	if sums != nil {
		d.Requests, d.CacheHitShare = sums[ledger.Requests], sums.HitRate()
	}
	if ofModel > 0 {
		share := float64(d.Requests) / float64(ofModel)
		d.TrafficShare = &share
	}
	return d
}

// drain takes a deployment out for new sessions, or ends that.
func (a *api) drain(on bool) http.HandlerFunc {
	action := "deployment.drain"
	if !on {
		action = "deployment.undrain"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		a.changeRest(w, r, action, func(id string) func(cooldown.Pool) (cooldown.Pool, bool) {
			return func(p cooldown.Pool) (cooldown.Pool, bool) { return p.Drain(id, on, a.Now()) }
		})
	}
}

// cool lets a deployment rest for a time.
func (a *api) cool(w http.ResponseWriter, r *http.Request) {
	text, p := body(r, maxKey)
	if p != nil {
		refuse(w, p)
		return
	}
	var asked struct {
		Seconds float64 `json:"seconds"`
	}
	err := json.Unmarshal(text, &asked, json.RejectUnknownMembers(true))
	if err != nil || !(asked.Seconds > 0 && asked.Seconds <= maxRest.Seconds()) {
		refuse(w, wire.Refuse(wire.InvalidRequest).About("seconds").Saying(`Send {"seconds":N}, more than 0 and at most a week. A drain lasts until it is ended.`))
		return
	}
	span := time.Duration(asked.Seconds * float64(time.Second))
	a.changeRest(w, r, "deployment.cool", func(id string) func(cooldown.Pool) (cooldown.Pool, bool) {
		return func(p cooldown.Pool) (cooldown.Pool, bool) {
			return p.Cool(id, a.Now(), a.Now().Add(span), cooldown.ByOperator)
		}
	})
}

// wake ends a deployment's rest.
func (a *api) wake(w http.ResponseWriter, r *http.Request) {
	a.changeRest(w, r, "deployment.wake", func(id string) func(cooldown.Pool) (cooldown.Pool, bool) {
		return func(p cooldown.Pool) (cooldown.Pool, bool) { return p.Wake(id, a.Now()) }
	})
}

// restState is a deployment's rest in the audit trail and in answers.
type restState struct {
	Deployment   string     `json:"deployment"`
	CoolingUntil *time.Time `json:"cooling_until"`
	Drained      bool       `json:"drained"`
}

func (a *api) restOf(id string, s cooldown.Status) restState {
	state := restState{Deployment: id, Drained: s.Drained}
	if s.Cooling(a.Now()) {
		until := s.Until.UTC()
		state.CoolingUntil = &until
	}
	return state
}

// changeRest makes a change to what is known of the deployment that the path
// names, and answers what is known then.
func (a *api) changeRest(w http.ResponseWriter, r *http.Request, action string, change func(id string) func(cooldown.Pool) (cooldown.Pool, bool)) {
	t := a.Snapshot().Catalog.Deployment(r.PathValue("id"))
	if t == nil {
		refuse(w, wire.Refuse(wire.RouteNotFound).Saying("There is no deployment of this id. GET /admin/deployments lists them."))
		return
	}
	var after cooldown.Status
	c := &trail.Change{Who: who(r), Action: action, Target: t.ID}
	err := a.Trail.Do(r.Context(), c, func() (err error) {
		var before cooldown.Status
		before, after, err = a.Health.ChangeRest(r.Context(), t, change(t.ID))
		c.Before, c.After = trail.State(a.restOf(t.ID, before)), trail.State(a.restOf(t.ID, after))
		return err
	})
	if err != nil {
		refuse(w, unchanged(err))
		return
	}
	answer(w, a.restOf(t.ID, after))
}

// unchanged is the refusal for a change that the store did not take.
func unchanged(err error) *wire.Problem {
	if errors.Is(err, store.ErrConflict) {
		return wire.Refuse(wire.RevisionConflict)
	}
	return wire.Refuse(wire.ConfigurationUnavailable).Saying("The change was not recorded. Try again as Retry-After says.")
}

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"holdfast/affinity"
	"holdfast/affinity/identity"
	"holdfast/affinity/store"
	"holdfast/routing"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// holdfast decides by the gateway's own packages: each process has its own
// affinity state over one shared store, plans by routing, and books cooldowns.
type holdfast struct {
	now      time.Time
	counted  *counted
	states   []*affinity.State
	catalog  *catalog.Catalog
	pool     *catalog.Pool
	caller   *catalog.Caller
	sessions *identity.Resolver
	number   map[string]int // of accounts, by deployment
	random   *rand.Rand
	turn     uint64
}

// endpoint is the one by which all requests come in.
const endpoint = "chat"

// keptSessions bounds the store's records of sessions.
const keptSessions = 1 << 20

func newHoldfast(w world) (*holdfast, error) {
	h := &holdfast{now: time.Unix(0, 0), number: map[string]int{}, random: rand.New(rand.NewPCG(w.seed, 13))}
	doc, problems := catalog.Load([]byte(document(w.accounts)))
	if catalog.HasErrors(problems) {
		return nil, fmt.Errorf("document: %v", problems)
	}
	compiled, problems := catalog.Compile(doc, "", func(reference string) (string, error) { return reference, nil })
	if catalog.HasErrors(problems) {
		return nil, fmt.Errorf("document: %v", problems)
	}
	h.catalog, h.pool, h.caller = compiled, compiled.Pool("model"), compiled.Caller("a")
	for i := range w.accounts {
		h.number[deployment(i)] = i
	}
	var err error
	if h.sessions, err = identity.Compile(identity.Rules{Enabled: true, AutoDetect: true, Builtin: true}); err != nil {
		return nil, err
	}
	clock := func() time.Time { return h.now }
	h.counted = &counted{Store: store.NewMemory(store.MemoryConfig{Now: clock, Ephemeral: keptSessions})}
	for range w.instances {
		h.states = append(h.states, affinity.New(affinity.Config{Store: h.counted, Now: clock}))
	}
	return h, nil
}

func deployment(account int) string { return fmt.Sprintf("account-%d", account) }

// document is one model on every account.
func document(accounts int) string {
	var b strings.Builder
	b.WriteString("connections:\n")
	for i := range accounts {
		fmt.Fprintf(&b, "  - {id: c%d, provider: openai-compatible, base_url: \"https://account-%d.example/v1\", auth: {type: none}}\n", i, i)
	}
	b.WriteString("deployments:\n")
	for i := range accounts {
		fmt.Fprintf(&b, "  - {id: %s, model: model, connection: c%d, protocol: chat}\n", deployment(i), i)
	}
	return b.String() + "keys: [{id: a, key: sk-simulated}]\n"
}

// The two records beside the preference that an exchange reads: the
// configuration's revision and the pool's cooldowns.
func also() []store.Key {
	return []store.Key{
		{Table: store.Config, Partition: "head", Sort: "head"},
		{Table: store.Affinity, Partition: "cooldown/model", Sort: "cooldown"},
	}
}

func (h *holdfast) serve(f *fleet, r Request, _ string, instance int) (int, error) {
	h.now = time.Unix(0, int64(r.At*1e9))
	ctx := context.Background()
	header := map[string][]string{"X-Session-Id": {r.Session}}
	if r.Lane != "" {
		header["X-Claude-Code-Agent-Id"] = []string{r.Lane}
	}
	signals, err := h.sessions.Read(identity.Request{Endpoint: endpoint, Header: header, Member: func(string) []byte { return nil }})
	if err != nil {
		return -1, err
	}
	plan, err := h.states[instance].Plan(ctx, affinity.Request{
		Scope: identity.KeyScope("a"), Signals: signals, Model: "model" + r.Model, Endpoint: endpoint, Also: also(),
	})
	if err != nil {
		return -1, err
	}
	resting, _ := plan.Also()[1].Record()
	pool, err := cooldown.Decode(resting.Value)
	if err != nil {
		return -1, err
	}
	decision := h.decide(r, plan, pool)
	if err := claim(ctx, plan, &decision, h.now); err != nil {
		return -1, err
	}
	return h.attempt(ctx, f, r, plan, &decision, pool)
}

// decide plans the route.
func (h *holdfast) decide(r Request, plan *affinity.Plan, pool cooldown.Pool) routing.Decision {
	h.turn++
	var held routing.Pin
	if t := plan.Preference; t != nil {
		held = routing.Pin{Deployment: t.Deployment, Pool: t.Pool, Path: t.Path}
	}
	return routing.Plan(routing.Request{
		Catalog: h.catalog, Caller: h.caller, Pool: h.pool, Endpoint: endpoint, Health: health{pool},
		Needs: routing.Needs{Input: r.Input, Output: r.Output}, Pin: held, Seed: plan.Seed(), Turn: h.turn,
		Session: short(plan.Seed()), Jitter: h.random.Float64, Now: h.now,
	})
}

func short(seed []byte) uint32 { return binary.BigEndian.Uint32(seed) }

// health is the pool's cooldowns as routing asks for them.
type health struct{ pool cooldown.Pool }

// Of is routing.Health's.
func (h health) Of(deployment string) routing.Condition {
	return routing.Condition{Rest: h.pool.Of(deployment)}
}

// claim reserves the preference for the first candidate where there is none.
func claim(ctx context.Context, plan *affinity.Plan, decision *routing.Decision, now time.Time) error {
	if plan.Preference != nil {
		return nil
	}
	_, step := decision.Start(now)
	if step.Action != routing.Try {
		return nil
	}
	_, err := plan.Claim(ctx, target(step.Candidate))
	return err
}

func target(c routing.Candidate) affinity.Target {
	return affinity.Target{Deployment: c.Target.ID, Model: c.Target.Model, Pool: c.Pool, Path: c.Path}
}

// attempt makes the calls that routing asks for, and books what came of them.
func (h *holdfast) attempt(ctx context.Context, f *fleet, r Request, plan *affinity.Plan, decision *routing.Decision, pool cooldown.Pool) (int, error) {
	run, step := decision.Start(h.now)
	served := -1
	for step.Action == routing.Try {
		outcome := routing.Outcome{Class: routing.ServerError}
		if n := h.number[step.Candidate.Target.ID]; f.call(n, r.At) {
			outcome.Class, served = routing.Success, n
		}
		last := step.Candidate
		step = run.Next(h.now, outcome)
		if served >= 0 {
			if _, err := plan.Commit(ctx, target(last)); err != nil {
				return -1, err
			}
		}
	}
	return served, h.book(ctx, plan.Also()[1], pool, run.Failures())
}

// book adds failures to the pool's record.
func (h *holdfast) book(ctx context.Context, at store.Handle, pool cooldown.Pool, failures []cooldown.Failure) error {
	rules := cooldown.Rules{
		AllowedFails: h.caller.Policy.AllowedFails, Cooldown: h.caller.Policy.Cooldown, MaxWait: time.Duration(h.catalog.Affinity().MaxWait),
	}
	learned := false
	for _, f := range failures {
		next, news := pool.Fail(f, rules)
		pool, learned = next, learned || news
	}
	if !learned {
		return nil
	}
	_, err := h.counted.Swap(ctx, at, store.Record{Value: pool.Encode(h.now), Expires: pool.Expires()})
	if errors.Is(err, store.ErrConflict) {
		return nil // one process at a time plays here: never
	}
	return err
}

func (h *holdfast) used() operations { return h.counted.operations }

// counted counts what a store is asked for.
type counted struct {
	store.Store
	operations
}

// Read counts each item.
func (c *counted) Read(ctx context.Context, keys ...store.Key) ([]store.Handle, error) {
	c.Reads += len(keys)
	return c.Store.Read(ctx, keys...)
}

// Swap counts a write, whether it takes place or not: both are billed.
func (c *counted) Swap(ctx context.Context, h store.Handle, next store.Record) (store.Handle, error) {
	c.Writes++
	return c.Store.Swap(ctx, h, next)
}

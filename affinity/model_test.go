package affinity_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/affinity"
	"holdfast/affinity/store"
)

// shared is what a preference record must be, told in plain words: a deployment,
// a count of the writes that made it, and when it lapses.
type shared struct {
	deployment string
	write      int // 0: nobody ever wrote
	chosen     int // the write that chose the deployment: renewals are no choice
	expires    time.Time
}

// running is one exchange between its plan and its end.
type running struct {
	plan   *affinity.Plan
	seen   shared // as it read, claimed or lost the record
	wished bool   // Plan read a live record
	mine   bool   // its own claim stands
}

// machine drives exchanges of one session in every order, and holds the store's
// record against the model after every step.
type machine struct {
	t      *rapid.T
	w      *world
	record shared
	writes int
	open   []*running
}

func (m *machine) live() shared {
	if m.record.write == 0 || !m.record.expires.After(m.w.Now()) {
		return shared{}
	}
	return m.record
}

// write records a claim or a move; renew the same choice once more.
func (m *machine) write(deployment string) shared {
	m.writes++
	m.record = shared{deployment, m.writes, m.writes, m.w.Now().Add(time.Hour)}
	return m.record
}

func (m *machine) renew() {
	m.writes++
	m.record.write, m.record.expires = m.writes, m.w.Now().Add(time.Hour)
}

var session = turn{scope: alice, session: "s"}

func (m *machine) Plan(t *rapid.T) {
	state := rapid.IntRange(0, len(m.w.states)-1).Draw(t, "state")
	p, err := m.w.states[state].Plan(t.Context(), m.request())
	if err != nil {
		t.Fatal(err)
	}
	now := m.live()
	if got := p.Preference; (got == nil) != (now.write == 0) || got != nil && got.Deployment != now.deployment {
		t.Fatalf("read %v, want %+v", got, now)
	}
	m.open = append(m.open, &running{plan: p, seen: now, wished: now.write > 0})
}

func (m *machine) request() affinity.Request { return session.request(m.t) }

func (m *machine) pick(t *rapid.T) *running {
	if len(m.open) == 0 {
		t.Skip("nothing runs")
	}
	return m.open[rapid.IntRange(0, len(m.open)-1).Draw(t, "exchange")]
}

func (m *machine) deployment(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "deployment")
}

func (m *machine) Claim(t *rapid.T) {
	r, mine := m.pick(t), m.deployment(t)
	winner, err := r.plan.Claim(t.Context(), target(mine))
	if err != nil {
		t.Fatal(err)
	}
	want := mine
	switch now := m.live(); {
	case r.wished || r.mine: // nothing to claim
	case now.write == r.seen.write || now.write == 0 && r.lapsed(m):
		r.seen, r.mine = m.write(mine), true
	default:
		r.seen, want = now, now.deployment
	}
	if winner.Deployment != want {
		t.Fatalf("claim follows %s, want %s", winner.Deployment, want)
	}
}

// lapsed reports whether what the exchange saw has expired.
func (r *running) lapsed(m *machine) bool {
	return r.seen.write > 0 && !r.seen.expires.After(m.w.Now())
}

func (m *machine) Commit(t *rapid.T) {
	r, served := m.pick(t), m.deployment(t)
	m.close(r)
	now, want := m.live(), affinity.Stale
	same := r.seen.write > 0 && r.seen.deployment == served
	switch {
	case now.write > 0 && now.write == r.seen.write && same:
		want = affinity.Renewed
		m.renew()
	case now.write == r.seen.write || now.write == 0 && r.lapsed(m),
		now.write > 0 && now.chosen == r.seen.chosen && !same: // others have only renewed it
		want = affinity.Committed
		m.write(served)
	}
	got, err := r.plan.Commit(t.Context(), target(served))
	if err != nil || got != want {
		t.Fatalf("commit of %s = %v, %v; want %v with %+v standing and %+v seen", served, got, err, want, now, r.seen)
	}
}

func (m *machine) Fail(t *rapid.T) { m.close(m.pick(t)) }

func (m *machine) close(r *running) {
	for i, o := range m.open {
		if o == r {
			m.open = append(m.open[:i], m.open[i+1:]...)
			return
		}
	}
}

func (m *machine) Wait(t *rapid.T) {
	m.w.Advance(time.Duration(rapid.IntRange(1, 45).Draw(t, "minutes")) * time.Minute)
}

// Check holds the store against the model, byte for byte where it matters.
func (m *machine) Check(t *rapid.T) {
	now, all := m.live(), m.w.dump(t, store.Affinity)
	if now.write == 0 {
		if len(all) != 0 {
			t.Fatalf("the store holds %v, the model nothing", all)
		}
		return
	}
	for _, r := range all {
		want := fmt.Sprintf(`{"deployment":%q,"model":"m","pool":"m","endpoint":"responses","switch":"`, now.deployment)
		if !strings.HasPrefix(r.Value, want) || !r.Expires.Equal(now.expires) {
			t.Fatalf("the store holds %+v, the model %+v", r, now)
		}
	}
	if len(all) != 1 {
		t.Fatalf("%d records", len(all))
	}
}

// No lost update in any order of plans, claims, commits, failures and expiries:
// a commit never undoes a switch newer than what its exchange read.
func TestEveryInterleaving(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{t: t, w: newWorld(2)}
		t.Repeat(map[string]func(*rapid.T){
			"plan": m.Plan, "claim": m.Claim, "commit": m.Commit, "fail": m.Fail, "wait": m.Wait, "": m.Check,
		})
	})
}

package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/affinity/store"
)

// Summary is what was used in a stretch of time.
type Summary struct {
	From, To    time.Time
	Totals      Sums
	Series      []Point // every step of the stretch, in order
	Models      []Named
	Keys        []Named
	Deployments []Named
	Partial     bool // there is more than one answer looks at: what is broken down is not all
}

// Point is a step of a time series.
type Point struct {
	At   time.Time
	Sums Sums
}

// Named is a part of a sum.
type Named struct {
	Name  string
	Sums  Sums
	Rates []*float64 // of deployments: the cache-hit rate of each step; nil without input
}

// prompts are the input tokens of a step, and how many of them a cache gave.
type prompts struct{ all, cached int64 }

// summaryBudget bounds the requests for events of a filtered summary.
const summaryBudget = 64

// maxPoints bounds a time series.
const maxPoints = 1000

// ErrTooLong says that a stretch has more steps than a series may have.
var ErrTooLong = errors.New("ledger: the stretch of time has too many steps")

// Summary sums up what is chosen from f.From to f.To, both set, in steps of an
// hour or a day. Without a filter, and for one key, model or deployment alone,
// totals and series are exact, whatever their size.
func (r *Reader) Summary(ctx context.Context, f Filter, step time.Duration) (Summary, error) {
	f.From, f.To = f.From.UTC().Truncate(step), f.To.UTC().Add(step-1).Truncate(step)
	if f.To.Sub(f.From)/step > maxPoints {
		return Summary{}, ErrTooLong
	}
	t := &tally{Reader: r, filter: f, step: step, points: map[int64]*Sums{}, prompts: map[string]map[int64]prompts{}}
	dimension, name, exact := f.alone()
	var err error
	switch {
	case exact && dimension == byTotal:
		err = t.whole(ctx)
	default:
		err = t.walk(ctx)
	}
	if exact && err == nil {
		clear(t.points)
		err = t.rolled(ctx, dimension, func(date time.Time, found string, d *day) {
			if found == name {
				t.hours(date, d, t.point)
			}
		})
	}
	return t.summary(), err
}

// alone returns the dimension whose sums answer a filter, and the name in it.
func (f Filter) alone() (dimension, name string, exact bool) {
	switch span := (Filter{From: f.From, To: f.To}); f {
	case span:
		return byTotal, "", true
	case Filter{From: f.From, To: f.To, Key: f.Key}:
		return byKey, f.Key, true
	case Filter{From: f.From, To: f.To, Model: f.Model}:
		return byModel, f.Model, true
	case Filter{From: f.From, To: f.To, Deployment: f.Deployment}:
		return byDeployment, f.Deployment, true
	}
	return "", "", false
}

// tally gathers a summary.
type tally struct {
	*Reader
	filter  Filter
	step    time.Duration
	points  map[int64]*Sums // by the Unix second at which a step begins
	names   [3]map[string]*Sums
	prompts map[string]map[int64]prompts // of deployments, by the step's beginning
	partial bool
}

// The parts of tally.names.
const (
	models = iota
	keys
	deployments
)

// whole breaks all that was used down by the sums of each dimension.
func (t *tally) whole(ctx context.Context) error {
	for part, dimension := range []string{models: byModel, keys: byKey, deployments: byDeployment} {
		err := t.rolled(ctx, dimension, func(date time.Time, name string, d *day) {
			t.hours(date, d, func(at time.Time, s *Sums) { t.named(part, name, at, s) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rolled visits the days of a dimension, as many as one summary may.
func (t *tally) rolled(ctx context.Context, dimension string, visit func(time.Time, string, *day)) error {
	err := t.days(ctx, dimension, t.filter.From, t.filter.To, visit)
	if errors.Is(err, errSpent) {
		t.partial, err = true, nil
	}
	return err
}

// hours visits the hours of a day that are in the stretch.
func (t *tally) hours(date time.Time, d *day, add func(time.Time, *Sums)) {
	for hour := range d.hours {
		at := date.Add(time.Duration(hour) * time.Hour)
		if d.hours[hour] != (Sums{}) && !at.Before(t.filter.From) && at.Before(t.filter.To) {
			add(at, &d.hours[hour])
		}
	}
}

// walk breaks what is chosen down by looking at the events themselves.
func (t *tally) walk(ctx context.Context) error {
	w := newWalk(t.Store, eventQueries(t.filter, store.MaxPage), "", summaryBudget)
	err := eachEvent(ctx, w, func(e Event, _ string) bool {
		if !t.filter.Matches(&e) {
			return true
		}
		s := Of(&e)
		t.point(e.Time, &s)
		t.named(models, e.Model, e.Time, &s)
		t.named(keys, e.Key, e.Time, &s)
		if e.Deployment != "" {
			t.named(deployments, e.Deployment, e.Time, &s)
		}
		return true
	})
	if errors.Is(err, errSpent) {
		t.partial, err = true, nil
	}
	return err
}

func (t *tally) point(at time.Time, s *Sums) {
	begin := at.Truncate(t.step).Unix()
	if t.points[begin] == nil {
		t.points[begin] = &Sums{}
	}
	t.points[begin].Add(s)
}

func (t *tally) named(part int, name string, at time.Time, s *Sums) {
	if t.names[part] == nil {
		t.names[part] = map[string]*Sums{}
	}
	if t.names[part][name] == nil {
		t.names[part][name] = &Sums{}
	}
	t.names[part][name].Add(s)
	if part != deployments {
		return
	}
	if t.prompts[name] == nil {
		t.prompts[name] = map[int64]prompts{}
	}
	begin := at.Truncate(t.step).Unix()
	p := t.prompts[name][begin]
	t.prompts[name][begin] = prompts{p.all + s.Prompt(), p.cached + s[CacheRead]}
}

// rates are a deployment's cache-hit rates, step by step.
func (t *tally) rates(name string) []*float64 {
	var all []*float64
	for at := t.filter.From; at.Before(t.filter.To); at = at.Add(t.step) {
		var rate *float64
		if p := t.prompts[name][at.Unix()]; p.all > 0 {
			share := float64(p.cached) / float64(p.all)
			rate = &share
		}
		all = append(all, rate)
	}
	return all
}

func (t *tally) summary() Summary {
	s := Summary{From: t.filter.From, To: t.filter.To, Partial: t.partial,
		Models: t.sorted(models), Keys: t.sorted(keys), Deployments: t.sorted(deployments)}
	for at := t.filter.From; at.Before(t.filter.To); at = at.Add(t.step) {
		p := Point{At: at}
		if found := t.points[at.Unix()]; found != nil {
			p.Sums = *found
		}
		s.Totals.Add(&p.Sums)
		s.Series = append(s.Series, p)
	}
	return s
}

// sorted lists a part by name.
func (t *tally) sorted(part int) []Named {
	all := []Named{}
	for _, name := range slices.SortedFunc(maps.Keys(t.names[part]), strings.Compare) {
		if sums := *t.names[part][name]; sums[Requests] > 0 {
			one := Named{Name: name, Sums: sums}
			if part == deployments {
				one.Rates = t.rates(name)
			}
			all = append(all, one)
		}
	}
	return all
}

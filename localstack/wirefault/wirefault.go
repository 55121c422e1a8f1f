// Package wirefault is an HTTP front for the DynamoDB wire that breaks what
// passes through it on demand: throttles, server errors, connections that drop
// or say nothing, slow and torn answers, partial batches. It also counts
// requests, and can answer failed conditions with the item that stands, as
// DynamoDB does, or without it, as dynalite does.
//
// Every fault of a write has two rows: the request did not reach the server,
// or it did and only the answer suffers (Fault.Applied). A client cannot tell
// them apart, so its tests must show both.
//
// Faults come from rules, which are used up one by one in the order they were
// injected, or from a function that is asked about every request.
//
// Concurrency: a Front is an http.Handler and all its methods are safe for use
// by many goroutines. It needs HTTP/1, since some faults take the connection.
package wirefault

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind is a sort of fault.
type Kind uint8

// The kinds of fault. None lets the request and its answer pass.
const (
	None     Kind = iota
	Throttle      // 400 ProvisionedThroughputExceededException; never applied
	Error         // 500 InternalServerError
	Drop          // the connection ends without an answer
	Reset         // the connection is reset without an answer
	Silence       // no answer until the client leaves
	Slow          // the answer comes, Delay late
	Torn          // 200 whose body ends half way; always applied
	Partial       // BatchGetItem serves the first half of its keys, rounded down
)

// Fault is what happens to one request.
type Fault struct {
	Kind Kind
	// Applied lets the request reach the server before the fault shows. With
	// Slow it decides whether the server or only the answer is late: not
	// applied, the request arrives after Delay even if its client has left.
	Applied bool
	Delay   time.Duration // of Slow
}

// Request says what is asked, for rules and functions that pick faults.
type Request struct {
	Operation string   // such as "PutItem"
	Tables    []string // full names, sorted
}

// Rule applies a fault to some requests.
type Rule struct {
	Operation string // "" matches every one
	Table     string // end of a table's name; "" matches every one
	Skip      int    // how many matching requests pass first
	Times     int    // how many suffer then; 0: one, negative: all
	Fault     Fault
}

// Items says what becomes of the item that stands, which a write may ask for
// in case that its condition fails (ALL_OLD).
type Items uint8

// The ways to treat the item.
const (
	AsBehind Items = iota // whatever the server behind does
	Returned              // as DynamoDB does: with the failed condition
	Withheld              // as dynalite does: not at all
)

// Config configures a Front. Target is required.
type Config struct {
	Target string       // base URL of the server behind, without a path
	Items  Items        // of failed conditions
	Client *http.Client // nil: a client of its own
}

// Front is the handler. Make it with New.
type Front struct {
	target string
	items  Items
	client *http.Client

	mu     sync.Mutex
	rules  []Rule
	decide func(Request) Fault
	counts map[string]int
	apart  func(Request) bool
}

// New returns a front that passes everything on until it is told otherwise.
func New(c Config) *Front {
	client := c.Client
	if client == nil {
		client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
	}
	return &Front{
		target: strings.TrimSuffix(c.Target, "/"), items: c.Items, client: client,
		counts: map[string]int{},
	}
}

// Inject appends rules. Where several match a request the first one counts.
func (f *Front) Inject(rules ...Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range rules {
		if r.Times == 0 {
			r.Times = 1
		}
		f.rules = append(f.rules, r)
	}
}

// Decide asks fn about every request that no rule matches. Nil ends that.
func (f *Front) Decide(fn func(Request) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decide = fn
}

// Clear takes back all rules and the function.
func (f *Front) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.decide = nil, nil
}

// Counts returns how many requests of each operation have come, faulty ones
// included, since the start or the last ResetCounts.
func (f *Front) Counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

// ResetCounts starts counting anew.
func (f *Front) ResetCounts() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.counts)
}

// CountApart leaves the requests that apart chooses out of Counts, nil for none:
// what has a count of its own elsewhere.
func (f *Front) CountApart(apart func(Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.apart = apart
}

// pick counts the request and returns its fault.
func (f *Front) pick(r Request) Fault {
	f.mu.Lock()
	if f.apart == nil || !f.apart(r) {
		f.counts[r.Operation]++
	}
	fault, decided := f.byRule(r)
	decide := f.decide
	f.mu.Unlock()
	if !decided && decide != nil {
		return decide(r) // outside the lock: it may call back
	}
	return fault
}

func (f *Front) byRule(r Request) (Fault, bool) {
	for i := range f.rules {
		rule := &f.rules[i]
		if !rule.matches(r) {
			continue
		}
		if rule.Skip > 0 {
			rule.Skip--
			return Fault{}, true
		}
		fault := rule.Fault
		if rule.Times > 0 {
			rule.Times--
		}
		if rule.Times == 0 {
			f.rules = slices.Delete(f.rules, i, i+1)
		}
		return fault, true
	}
	return Fault{}, false
}

func (r *Rule) matches(q Request) bool {
	if r.Operation != "" && r.Operation != q.Operation {
		return false
	}
	return r.Table == "" || slices.ContainsFunc(q.Tables, func(name string) bool {
		return strings.HasSuffix(name, r.Table)
	})
}

package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/affinity/store"
	"holdfast/affinity/store/dynamo"
	"holdfast/localstack/wirefault"
)

var key = store.Key{Table: store.Affinity, Partition: "p", Sort: "s"}

// L5: the answer to a conditional write is lost, the write is sent again and
// meets its own first attempt: success. Without the returned item that costs
// one more read.
func TestResentWriteMeetsItself(t *testing.T) {
	for _, allOld := range []bool{false, true} {
		for name, kind := range map[string]wirefault.Kind{"dropped": wirefault.Drop, "reset": wirefault.Reset, "torn": wirefault.Torn, "500": wirefault.Error} {
			t.Run(fmt.Sprintf("%s, item returned: %v", name, allOld), func(t *testing.T) {
				f := newFixture(t, allOld)
				f.front.Inject(wirefault.Rule{Operation: "PutItem", Fault: wirefault.Fault{Kind: kind, Applied: true}})
				s := f.open(t, nil)
				h, err := s.Swap(t.Context(), store.NewHandle(key, "", store.Record{}), store.Record{Value: []byte("mine")})
				if err != nil {
					t.Fatalf("Swap: %v", err)
				}
				want := map[string]int{"PutItem": 2, "GetItem": 1}
				if allOld {
					delete(want, "GetItem")
				}
				if d := cmp.Diff(want, f.front.Counts()); d != "" {
					t.Errorf("requests (-want +got):\n%s", d)
				}
				if stands := read(t, s); stands.Revision() != h.Revision() {
					t.Errorf("revision %q stands, the handle has %q", stands.Revision(), h.Revision())
				}
			})
		}
	}
}

// ending is what a row of the tables below expects of one write.
type ending struct {
	err     error // nil: success
	written bool  // whether the write shows afterwards
}

// faultRows lists the faults of the wire, each write fault with both rows, and
// how a write ends that suffers it at every attempt. Silence ends an attempt by
// its deadline.
var faultRows = []struct {
	name  string
	fault wirefault.Fault
	swap  ending
	add   ending
}{
	{"throttled", wirefault.Fault{Kind: wirefault.Throttle}, ending{store.ErrUnavailable, false}, ending{store.ErrUnavailable, false}},
	{"500, not applied", wirefault.Fault{Kind: wirefault.Error}, ending{store.ErrUnavailable, false}, ending{store.ErrUnknown, false}},
	{"500, applied", wirefault.Fault{Kind: wirefault.Error, Applied: true}, ending{nil, true}, ending{nil, true}},
	{"dropped, not applied", wirefault.Fault{Kind: wirefault.Drop}, ending{store.ErrUnknown, false}, ending{store.ErrUnknown, false}},
	{"dropped, applied", wirefault.Fault{Kind: wirefault.Drop, Applied: true}, ending{nil, true}, ending{nil, true}},
	{"reset, not applied", wirefault.Fault{Kind: wirefault.Reset}, ending{store.ErrUnknown, false}, ending{store.ErrUnknown, false}},
	{"reset, applied", wirefault.Fault{Kind: wirefault.Reset, Applied: true}, ending{nil, true}, ending{nil, true}},
	{"torn", wirefault.Fault{Kind: wirefault.Torn}, ending{nil, true}, ending{nil, true}},
	{"silent, not applied", wirefault.Fault{Kind: wirefault.Silence}, ending{store.ErrUnknown, false}, ending{store.ErrUnknown, false}},
	{"silent, applied", wirefault.Fault{Kind: wirefault.Silence, Applied: true}, ending{nil, true}, ending{nil, true}},
}

// TestEveryAttemptFails gives each kind of write each fault for good.
func TestEveryAttemptFails(t *testing.T) {
	for _, row := range faultRows {
		for _, allOld := range []bool{false, true} {
			if allOld && row.fault.Kind == wirefault.Silence {
				continue // no answer, so no item in it; and slow
			}
			t.Run(fmt.Sprintf("%s/item returned: %v", row.name, allOld), func(t *testing.T) {
				t.Parallel()
				checkWrites(t, allOld, wirefault.Rule{Times: -1, Fault: row.fault}, row.swap, row.add)
			})
		}
	}
}

// TestFirstAttemptFails: a Swap is sent again and succeeds in every row. An Add
// is sent again only where it was certainly not applied.
func TestFirstAttemptFails(t *testing.T) {
	for _, row := range faultRows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			add := row.add
			if row.fault.Kind == wirefault.Throttle {
				add = ending{nil, true}
			}
			checkWrites(t, false, wirefault.Rule{Fault: row.fault}, ending{nil, true}, add)
		})
	}
}

// checkWrites swaps over an absent and over a live record, and adds to both.
func checkWrites(t *testing.T, allOld bool, rule wirefault.Rule, swap, add ending) {
	f := newFixture(t, allOld)
	s := f.open(t, func(c *dynamo.Config) {
		if rule.Fault.Kind == wirefault.Silence {
			c.AttemptTimeout = 2 * dynamo.DefaultAttemptTimeout
		}
	})
	var h store.Handle
	for _, before := range []string{"absent", "live"} {
		inject(f, rule, "PutItem")
		got, err := s.Swap(t.Context(), read(t, s), store.Record{Value: []byte(before)})
		h = read(t, s)
		rec, _ := h.Record()
		checkEnd(t, "Swap over "+before, swap, err, string(rec.Value) == before)
		if err == nil && got.Revision() != h.Revision() {
			t.Errorf("Swap over %s gave the handle of another write", before)
		}
		f.front.Clear()
		if err != nil {
			put(t, s, "for the next")
		}
	}
	for i, k := range []store.Key{{Table: store.Ledger, Partition: "p", Sort: "absent"}, key} {
		inject(f, rule, "UpdateItem")
		got, err := s.Add(t.Context(), k, map[string]int64{"n": 7}, time.Time{})
		rec, _ := readKey(t, s, k).Record()
		checkEnd(t, fmt.Sprintf("Add %d", i), add, err, rec.Counters["n"] == 7)
		if err == nil && got["n"] != 7 {
			t.Errorf("Add gave %v", got)
		}
		f.front.Clear()
	}
}

func inject(f *fixture, rule wirefault.Rule, operation string) {
	rule.Operation = operation
	f.front.Inject(rule)
}

func checkEnd(t *testing.T, what string, want ending, err error, written bool) {
	t.Helper()
	if !errors.Is(err, want.err) || written != want.written {
		t.Errorf("%s: error %v, written %v; want error %v, written %v", what, err, written, want.err, want.written)
	}
	if errors.Is(err, store.ErrUnknown) && errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%s: an error that says both: %v", what, err)
	}
}

// An Add whose answer was lost and that others added after cannot be told from
// one that was not applied.
func TestLostAddThatOthersFollow(t *testing.T) {
	f := newFixture(t, false)
	other := f.open(t, func(c *dynamo.Config) { c.Client = newClient(t, backend.Endpoint()) })
	f.front.Inject(wirefault.Rule{Operation: "UpdateItem", Fault: wirefault.Fault{Kind: wirefault.Drop, Applied: true}})
	f.front.Decide(func(r wirefault.Request) wirefault.Fault {
		if r.Operation == "GetItem" { // the read-back: somebody was faster
			if _, err := other.Add(context.Background(), key, map[string]int64{"n": 10}, time.Time{}); err != nil {
				t.Error(err)
			}
		}
		return wirefault.Fault{}
	})
	s := f.open(t, nil)
	if _, err := s.Add(t.Context(), key, map[string]int64{"n": 1}, time.Time{}); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("Add: %v, want ErrUnknown", err)
	}
	if rec, _ := read(t, s).Record(); rec.Counters["n"] != 11 {
		t.Errorf("the counter is %d, want 11: added once each", rec.Counters["n"])
	}
}

// A stale handle and a lost answer: the record that stands replaced the very
// revision that ours would have, so ours was not applied. With the item that
// stands in hand that is a conflict, not an unknown end.
func TestStaleSwapWithLostAnswer(t *testing.T) {
	for _, kind := range []wirefault.Kind{wirefault.Drop, wirefault.Error, wirefault.Reset} {
		f := newFixture(t, false)
		s := f.open(t, nil)
		stale := put(t, s, "old")
		stands := put(t, s, "newer")
		f.front.Inject(wirefault.Rule{Operation: "PutItem", Fault: wirefault.Fault{Kind: kind}})
		got, err := s.Swap(t.Context(), stale, store.Record{Value: []byte("late")})
		if !errors.Is(err, store.ErrConflict) || got.Revision() != stands.Revision() {
			t.Errorf("fault %d: error %v, handle of %q; want a conflict with %q", kind, err, got.Revision(), stands.Revision())
		}
	}
}

// A request that arrives after its client has given up: the answer is unknown,
// never "unavailable", because it is applied in the end.
func TestWriteThatArrivesLate(t *testing.T) {
	t.Parallel()
	f := newFixture(t, false)
	s := f.open(t, func(c *dynamo.Config) { c.AttemptTimeout, c.Timeout = 0, 0 })
	late := wirefault.Fault{Kind: wirefault.Slow, Delay: 1500 * time.Millisecond}
	f.front.Inject(wirefault.Rule{Operation: "PutItem", Times: -1, Fault: late})
	_, err := s.Swap(t.Context(), store.NewHandle(key, "", store.Record{}), store.Record{Value: []byte("late")})
	if !errors.Is(err, store.ErrUnknown) {
		t.Errorf("Swap: %v, want ErrUnknown", err)
	}
	f.server.Close() // waits until what is under way has arrived
	direct := f.open(t, func(c *dynamo.Config) { c.Client = newClient(t, backend.Endpoint()) })
	if rec, _ := read(t, direct).Record(); string(rec.Value) != "late" {
		t.Errorf("the record holds %q, want what arrived late", rec.Value)
	}
}

// L6: whatever the wire does, each call ends within its deadline.
func TestDeadlines(t *testing.T) {
	const slack = 700 * time.Millisecond // of a busy machine
	slow := wirefault.Fault{Kind: wirefault.Slow, Delay: 1500 * time.Millisecond}
	endpoints := map[string]func(t *testing.T) string{
		"closed port": closedPort, "accepts and says nothing": deadSocket,
		"slow": frontWith(slow), "silent": frontWith(wirefault.Fault{Kind: wirefault.Silence}),
		"throttled": frontWith(wirefault.Fault{Kind: wirefault.Throttle}), "500": frontWith(wirefault.Fault{Kind: wirefault.Error}),
		"dropped": frontWith(wirefault.Fault{Kind: wirefault.Drop}), "partial": frontWith(wirefault.Fault{Kind: wirefault.Partial}),
	}
	for name, endpoint := range endpoints {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := dynamo.New(dynamo.Config{Endpoint: endpoint(t)})
			if err != nil {
				t.Fatal(err)
			}
			ends := make(chan error)
			for _, call := range calls(s) {
				go func() {
					start := time.Now()
					err := call(t.Context())
					if took := time.Since(start); took > dynamo.DefaultTimeout+slack {
						err = fmt.Errorf("took %v: %w", took, err)
					} else if errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
						err = nil
					}
					ends <- err
				}()
			}
			for range calls(s) {
				if err := <-ends; err != nil {
					t.Errorf("%v, want ErrUnavailable or ErrUnknown within a second", err)
				}
			}
		})
	}
}

// calls are one call of each operation.
func calls(s *dynamo.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Read": func(ctx context.Context) error { _, err := s.Read(ctx, key); return err },
		"Swap": func(ctx context.Context) error {
			_, err := s.Swap(ctx, store.NewHandle(key, "", store.Record{}), store.Record{})
			return err
		},
		"Add": func(ctx context.Context) error {
			_, err := s.Add(ctx, key, map[string]int64{"n": 1}, time.Time{})
			return err
		},
		"Query": func(ctx context.Context) error {
			_, err := s.Query(ctx, store.Query{Table: store.State, Partition: "p"})
			return err
		},
	}
}

// A write that never left this machine was certainly not applied.
func TestUnreachableIsUnavailable(t *testing.T) {
	s, err := dynamo.New(dynamo.Config{Endpoint: closedPort(t)})
	if err != nil {
		t.Fatal(err)
	}
	for what, call := range calls(s) {
		if err := call(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", what, err)
		}
	}
}

// X3: what an error says may be logged, so it holds no key and no value.
func TestErrorsNameNoKeys(t *testing.T) {
	k := store.Key{Table: store.Affinity, Partition: "raw-partition", Sort: "raw-sort"}
	f := newEmptyFixture(t, true) // without tables, what is not refused by the wire is by DynamoDB
	s := f.open(t, nil)
	for _, kind := range []wirefault.Kind{wirefault.None, wirefault.Throttle, wirefault.Error, wirefault.Drop, wirefault.Reset, wirefault.Torn} {
		f.front.Inject(wirefault.Rule{Times: -1, Fault: wirefault.Fault{Kind: kind}})
		_, errRead := s.Read(t.Context(), k)
		_, errSwap := s.Swap(t.Context(), store.NewHandle(k, "raw-revision", store.Record{}), store.Record{Value: []byte("raw-value")})
		_, errAdd := s.Add(t.Context(), k, map[string]int64{"raw-counter": 1}, time.Time{})
		_, errQuery := s.Query(t.Context(), store.Query{Table: k.Table, Partition: k.Partition, From: k.Sort})
		for _, err := range []error{errRead, errSwap, errAdd, errQuery} {
			if err == nil || strings.Contains(err.Error(), "raw-") {
				t.Errorf("fault %d: error %v, want one that names nothing", kind, err)
			}
		}
		f.front.Clear()
	}
}

func closedPort(t *testing.T) string {
	l := listen(t)
	l.Close()
	return "http://" + l.Addr().String()
}

// deadSocket completes connections, in the kernel, and does nothing with them.
func deadSocket(t *testing.T) string {
	return "http://" + listen(t).Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func frontWith(fault wirefault.Fault) func(t *testing.T) string {
	return func(t *testing.T) string {
		f := newEmptyFixture(t, false)
		f.front.Inject(wirefault.Rule{Times: -1, Fault: fault})
		return f.endpoint
	}
}

func read(t testing.TB, s store.Store) store.Handle {
	t.Helper()
	return readKey(t, s, key)
}

func readKey(t testing.TB, s store.Store, k store.Key) store.Handle {
	t.Helper()
	handles, err := s.Read(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return handles[0]
}

func put(t testing.TB, s store.Store, value string) store.Handle {
	t.Helper()
	h, err := s.Swap(t.Context(), read(t, s), store.Record{Value: []byte(value)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

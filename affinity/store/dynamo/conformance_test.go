package dynamo_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/affinity/store"
	"holdfast/affinity/store/dynamo"
	"holdfast/affinity/store/storetest"
	"holdfast/localstack/wirefault"
)

// opened is a store that still knows where it was opened.
type opened struct {
	*dynamo.Store
	at *fixture
}

func openAt(t testing.TB, f *fixture, now func() time.Time) opened {
	return opened{f.open(t, func(c *dynamo.Config) { c.Now = now }), f}
}

// Both runs of the suite together check 10,000 operations under faults.
const operations = 5_000

// The suite on dynalite itself: a failed condition carries no item, so every
// conflict is read back.
func TestConforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{
		New: func(t testing.TB, now func() time.Time) store.Store {
			f := &fixture{prefix: randomPrefix(t), client: newClient(t, backend.Endpoint())}
			createTables(t, f.prefix)
			return openAt(t, f, now)
		},
		Second:     second,
		Faulty:     faulty(false),
		Operations: operations,
	})
}

// The cases with conditions once more through the front, which answers
// conflicts as DynamoDB does. What only reads cannot tell the difference.
func TestConformsWithReturnedItems(t *testing.T) {
	t.Parallel()
	h := storetest.Harness{
		New: func(t testing.TB, now func() time.Time) store.Store {
			return openAt(t, newFixture(t, true), now)
		},
		Second:     second,
		Faulty:     faulty(true),
		Operations: operations,
	}
	ran := 0
	for _, c := range storetest.Cases(h) {
		area, _, _ := strings.Cut(c.Name, "/")
		if slices.Contains([]string{"read", "query", "index", "bounds", "context"}, area) {
			continue
		}
		ran++
		t.Run(c.Name, func(t *testing.T) { c.Run(t, h) })
	}
	if ran < 50 {
		t.Errorf("%d cases ran; have they been renamed?", ran)
	}
}

func second(t testing.TB, s store.Store, now func() time.Time) store.Store {
	return openAt(t, s.(opened).at, now)
}

// faulty puts the suite's script on the wire: refused attempts are answered
// with a server error, lost ones lose the connection after they were applied.
func faulty(allOld bool) func(testing.TB, func() time.Time, func() storetest.Fault) store.Store {
	return func(t testing.TB, now func() time.Time, next func() storetest.Fault) store.Store {
		f := newFixture(t, allOld)
		f.front.Decide(func(r wirefault.Request) wirefault.Fault {
			if r.Operation != "PutItem" && r.Operation != "UpdateItem" {
				return wirefault.Fault{}
			}
			switch next() {
			case storetest.Refused:
				return wirefault.Fault{Kind: wirefault.Error}
			case storetest.Lost:
				return wirefault.Fault{Kind: wirefault.Drop, Applied: true}
			}
			return wirefault.Fault{}
		})
		return openAt(t, f, now)
	}
}

package budget

import (
	"context"
	"maps"
	"slices"
	"sync"

	"holdfast/affinity/store"
)

// Closing is what this process is about to book: the requests whose answers have
// ended, or are just ending, and whose bookings have not come back yet. A client
// that asks again at once would otherwise be judged by a counter that does not
// know of its last request.
//
// The zero Closing is ready. It may be used by many goroutines.
type Closing struct {
	mu sync.Mutex
	by map[store.Key]*tally
}

// tally is what is about to be booked to one account, whatever the window.
type tally struct {
	sum Amount
	all map[chan struct{}]bool // closed when booked
}

// Begin notes that used is about to be booked to some accounts. The function that
// it returns ends that; it is to be called once.
func (c *Closing) Begin(accounts []Account, used Amount) (booked func()) {
	done := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[store.Key]*tally{}
	}
	for _, a := range accounts {
		t := c.by[a.place()]
		if t == nil {
			t = &tally{all: map[chan struct{}]bool{}}
			c.by[a.place()] = t
		}
		t.sum, t.all[done] = t.sum.plus(used, 1), true
	}
	return func() {
		c.end(accounts, used, done)
		close(done)
	}
}

func (c *Closing) end(accounts []Account, used Amount, done chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range accounts {
		t := c.by[a.place()]
		t.sum = t.sum.plus(used, -1)
		delete(t.all, done)
		if len(t.all) == 0 {
			delete(c.by, a.place())
		}
	}
}

// Seen is what is about to be booked now, by account; nil where that is nothing.
// It is to be asked before the counters are read: what is booked meanwhile is
// then in one of the two, or in both.
func (c *Closing) Seen(accounts []Account) []Amount {
	if len(accounts) == 0 { // who has no limits shares no lock
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Amount
	for i, a := range accounts {
		if t := c.by[a.place()]; t != nil {
			if all == nil {
				all = make([]Amount, len(accounts))
			}
			all[i] = t.sum
		}
	}
	return all
}

// Wait waits until what is about to be booked now to any of the accounts is, or
// the context ends.
func (c *Closing) Wait(ctx context.Context, accounts []Account) {
	var all []chan struct{}
	c.mu.Lock()
	for _, a := range accounts {
		if t := c.by[a.place()]; t != nil {
			all = slices.AppendSeq(all, maps.Keys(t.all))
		}
	}
	c.mu.Unlock()
	for _, done := range all {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// place names an account, whatever the window.
func (a Account) place() store.Key {
	key := a.counter.Key
	key.Sort = ""
	return key
}

// plus adds other some times.
func (u Amount) plus(other Amount, times int64) Amount {
	return Amount{Requests: u.Requests + times*other.Requests, Tokens: u.Tokens + times*other.Tokens, Nanos: u.Nanos + times*other.Nanos}
}

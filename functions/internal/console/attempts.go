package console

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Bounds of guessing, for each process by itself: keys are far too long to be
// guessed, so that this protects chosen admin keys and the log.
const (
	maxFailures  = 10          // of one address
	window       = time.Minute // after which they are forgotten
	maxAddresses = 10_000      // that are remembered
)

// attempts counts wrong keys by address.
type attempts struct {
	mu sync.Mutex
	by map[string]*failures
}

type failures struct {
	count int
	until time.Time
}

func newAttempts() *attempts { return &attempts{by: map[string]*failures{}} }

// wait returns how long an address has to wait before its next attempt.
func (a *attempts) wait(address string, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.by[address]
	if f == nil || f.count < maxFailures || !now.Before(f.until) {
		return 0
	}
	return f.until.Sub(now)
}

// fail counts a wrong key.
func (a *attempts) fail(address string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.by[address]
	if f == nil || !now.Before(f.until) {
		a.forget(now)
		f = &failures{until: now.Add(window)}
		a.by[address] = f
	}
	f.count++
}

// forget makes room for one more address. The caller holds mu.
func (a *attempts) forget(now time.Time) {
	if len(a.by) < maxAddresses {
		return
	}
	for address, f := range a.by {
		if !now.Before(f.until) {
			delete(a.by, address)
		}
	}
	if len(a.by) >= maxAddresses {
		clear(a.by) // a flood from everywhere: counting it helps nobody
	}
}

// origin is where a request comes from: its address or, of IPv6, its network.
func origin(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	address, err := netip.ParseAddr(host)
	if err != nil || address.Unmap().Is4() {
		return host
	}
	network, err := address.WithZone("").Prefix(64)
	if err != nil {
		return host
	}
	return network.String()
}

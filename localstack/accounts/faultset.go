package accounts

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// maxFaults bounds what can be armed at once.
const maxFaults = 1000

// Armed is a fault in place.
type Armed struct {
	ID     string `json:"id"`
	Fault  `json:"fault"`
	Struck int `json:"struck"` // how often so far
}

// faultSet holds the armed faults in the order in which they were armed.
type faultSet struct {
	some atomic.Bool // saves the lock on the usual path

	mu   sync.Mutex
	list []*loaded
	last int
}

type loaded struct {
	Armed
	chance *rand.Rand
}

// subject is what faults look at.
type subject struct {
	protocol, operation, model, key string
	stream                          bool
	body                            []byte
}

// Inject arms a fault. Its error wraps ErrFault.
func (a *Account) Inject(f Fault) (id string, err error) {
	if err := f.check(); err != nil {
		return "", err
	}
	s := &a.faults
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) >= maxFaults {
		return "", fmt.Errorf("%w: %d are armed already", ErrFault, maxFaults)
	}
	s.last++
	l := &loaded{Armed: Armed{ID: fmt.Sprintf("f%d", s.last), Fault: f}, chance: rand.New(rand.NewPCG(f.Seed, 0))}
	s.list = append(s.list, l)
	s.some.Store(true)
	return l.ID, nil
}

// Faults lists what is armed.
func (a *Account) Faults() []Armed {
	a.faults.mu.Lock()
	defer a.faults.mu.Unlock()
	list := make([]Armed, len(a.faults.list))
	for i, l := range a.faults.list {
		list[i] = l.Armed
	}
	return list
}

// Remove disarms one fault; false when it is not armed (any more).
func (a *Account) Remove(id string) bool {
	a.faults.mu.Lock()
	defer a.faults.mu.Unlock()
	for i, l := range a.faults.list {
		if l.ID == id {
			a.faults.drop(i)
			return true
		}
	}
	return false
}

// ClearFaults disarms all and tells how many there were.
func (a *Account) ClearFaults() int {
	a.faults.mu.Lock()
	defer a.faults.mu.Unlock()
	n := len(a.faults.list)
	a.faults.list = nil
	a.faults.some.Store(false)
	return n
}

func (s *faultSet) drop(i int) {
	s.list = append(s.list[:i:i], s.list[i+1:]...)
	s.some.Store(len(s.list) > 0)
}

// strike is the fault that hits a call, nil for none. It counts.
func (s *faultSet) strike(c subject) *Armed {
	if !s.some.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range s.list {
		if !l.fits(c) || l.Probability > 0 && l.chance.Float64() >= l.Probability {
			continue
		}
		l.Struck++
		hit := l.Armed
		if l.Struck == l.Times {
			s.drop(i)
		}
		return &hit
	}
	return nil
}

func (f *Fault) fits(c subject) bool {
	return (f.Model == "" || f.Model == c.model) &&
		(f.Protocol == "" || f.Protocol == c.protocol) &&
		(f.Operation == "" || f.Operation == c.operation) &&
		(f.Key == "" || f.Key == c.key) &&
		(f.Stream == nil || *f.Stream == c.stream) &&
		(f.Match == "" || bytes.Contains(c.body, []byte(f.Match)))
}

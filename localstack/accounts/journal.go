package accounts

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Bounds of a journal; the oldest calls go first.
const (
	defaultJournal = 1000
	journalBytes   = 64 << 20
)

// Call is one call that an account got.
type Call struct {
	Seq       int64       `json:"seq"` // 1 is the first since the journal was emptied
	Time      time.Time   `json:"time"`
	Method    string      `json:"method"`
	Path      string      `json:"path"`    // with its query
	Headers   http.Header `json:"headers"` // credentials replaced by their KeyHash
	Key       string      `json:"key"`     // KeyHash of the credential; empty without one
	Body      []byte      `json:"-"`
	Protocol  string      `json:"protocol"`  // chat, responses, messages, embeddings, models, videos, conversations
	Operation string      `json:"operation"` // create, count_tokens, retrieve, ...
	Model     string      `json:"model"`
	Stream    bool        `json:"stream"`
	Status    int         `json:"status"` // 0: no answer was begun
	Fault     Kind        `json:"fault"`  // what struck; empty: nothing
	FaultID   string      `json:"fault_id"`
	Usage     Usage       `json:"usage"`
	Events    int         `json:"events"`    // of the stream that left, an error event included
	Open      bool        `json:"open"`      // still running
	Finished  bool        `json:"finished"`  // a whole answer left, a plain error included
	Cancelled bool        `json:"cancelled"` // the client went away before that
}

// Usage is what the account reported, in tokens: Input excludes what was read
// from the cache or is reported as written to it.
type Usage struct {
	Input        int `json:"input"`
	CacheRead    int `json:"cache_read"`
	CacheWrite5m int `json:"cache_write_5m"`
	CacheWrite1h int `json:"cache_write_1h"`
	Output       int `json:"output"`
	Reasoning    int `json:"reasoning"`
}

// journal keeps the latest calls. A nil journal keeps nothing.
type journal struct {
	limit int

	mu      sync.Mutex
	calls   []*Call
	bytes   int
	seq     int64
	changed chan struct{} // closed by the next change; nil while nobody waits for it
}

func newJournal(limit int) *journal {
	if limit < 0 {
		return nil
	}
	if limit == 0 {
		limit = defaultJournal
	}
	return &journal{limit: limit}
}

// open begins a call.
func (j *journal) open(c *Call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	c.Seq, c.Open = j.seq, true
	j.calls = append(j.calls, c)
	j.bytes += len(c.Body)
	for len(j.calls) > j.limit || len(j.calls) > 1 && j.bytes > journalBytes {
		j.bytes -= len(j.calls[0].Body)
		j.calls[0] = nil
		j.calls = j.calls[1:]
	}
	j.wake()
}

// update changes a call that is still running.
func (j *journal) update(c *Call, change func(*Call)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(c)
	j.wake()
}

func (j *journal) wake() {
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// snapshot copies the calls.
func (j *journal) snapshot() []Call {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.copies()
}

// watch copies the calls, and gives the channel that tells of the next change.
func (j *journal) watch() ([]Call, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return j.copies(), j.changed
}

func (j *journal) copies() []Call {
	calls := make([]Call, len(j.calls))
	for i, c := range j.calls {
		calls[i] = *c
	}
	return calls
}

// Calls copies the journal, oldest first. Headers and bodies are shared: do not
// change them.
func (a *Account) Calls() []Call {
	if a.journal == nil {
		return nil
	}
	return a.journal.snapshot()
}

// Count is how many calls came since the journal was emptied, those included
// that it has forgotten. Without a journal it is 0.
func (a *Account) Count() int {
	if a.journal == nil {
		return 0
	}
	a.journal.mu.Lock()
	defer a.journal.mu.Unlock()
	return int(a.journal.seq)
}

// Forget empties the journal. Calls that are still running are not seen again.
func (a *Account) Forget() {
	if a.journal == nil {
		return
	}
	a.journal.mu.Lock()
	defer a.journal.mu.Unlock()
	a.journal.calls, a.journal.bytes, a.journal.seq = nil, 0, 0
	a.journal.wake()
}

// Await waits until the journal satisfies a condition, or ctx ends.
func (a *Account) Await(ctx context.Context, condition func([]Call) bool) error {
	if a.journal == nil {
		return errNoJournal
	}
	for {
		calls, changed := a.journal.watch()
		if condition(calls) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

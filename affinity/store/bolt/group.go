package bolt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"holdfast/affinity/store"
)

// group commits the writes that wait together in one transaction, so that they
// share its fsync. While a commit runs, the next ones gather; a lone write waits
// for nobody. Each write sees those before it in the same transaction, and is
// answered when the transaction is on disk.
type group struct {
	db *bbolt.DB

	mu      sync.Mutex
	waiting []*job
	running bool
	closed  bool
	idle    sync.WaitGroup
	broken  atomic.Bool // bbolt panicked; its locks may be held for ever
}

// job is one write. apply returns whether it changed anything; an error of its
// own leaves the others alone.
type job struct {
	apply func(*tables) (changed bool, err error)
	state atomic.Int32
	done  chan struct{}

	changed bool
	err     error // valid when done is closed
}

// The states of a job: a caller that leaves may take it back while it waits.
const (
	waits int32 = iota
	taken
	withdrawn
)

// mostAtOnce bounds the transaction, and with it the time that its first job
// waits for the last.
const mostAtOnce = 256

// do runs apply in a transaction and returns once that is on disk. Where the
// context ends first, the error says whether anything can still be written.
func (g *group) do(ctx context.Context, apply func(*tables) (bool, error)) error {
	j := &job{apply: apply, done: make(chan struct{})}
	if err := g.enter(j); err != nil {
		return err
	}
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
	}
	if j.state.CompareAndSwap(waits, withdrawn) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, ctx.Err())
	}
	select {
	case <-j.done: // it was ready as well
		return j.err
	default:
		return fmt.Errorf("%w: %w", store.ErrUnknown, ctx.Err())
	}
}

// enter queues the job. Whoever finds nobody committing starts it; there is no
// goroutine while there is nothing to write.
func (g *group) enter(j *job) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errClosed
	}
	if g.broken.Load() {
		return damaged()
	}
	g.waiting = append(g.waiting, j)
	if !g.running {
		g.running = true
		g.idle.Go(g.run)
	}
	return nil
}

// run commits until nobody waits.
func (g *group) run() {
	for {
		g.mu.Lock()
		jobs := g.waiting[:min(len(g.waiting), mostAtOnce)]
		g.waiting = g.waiting[len(jobs):]
		if len(jobs) == 0 {
			g.waiting, g.running = nil, false
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		g.commit(jobs)
	}
}

// commit runs the jobs in one transaction and answers them.
func (g *group) commit(jobs []*job) {
	var mine []*job
	for _, j := range jobs {
		if j.state.CompareAndSwap(waits, taken) {
			mine = append(mine, j)
		}
	}
	applied, err := g.transact(mine)
	for _, j := range mine {
		if err != nil {
			j.err = outcome(err, j.changed && applied)
		}
		close(j.done)
	}
}

// outcome is what a failed transaction means for one job: after the commit
// began a change may be on disk.
func outcome(err error, maybe bool) error {
	if maybe {
		return fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	if errors.Is(err, store.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// transact applies the jobs and commits where one of them changed something.
// began says whether the commit was reached. Panics of bbolt, which is how it
// reports a damaged page, end the group.
func (g *group) transact(jobs []*job) (began bool, err error) {
	if g.broken.Load() {
		return false, ErrDamaged
	}
	tx, err := g.db.Begin(true)
	if err != nil {
		return false, err
	}
	defer func() {
		if p := recover(); p != nil {
			g.broken.Store(true)
			err = ErrDamaged
			release(tx)
		}
	}()
	t := &tables{tx: tx}
	changed := false
	for _, j := range jobs {
		j.changed, j.err = j.apply(t)
		changed = changed || j.changed
		// The transaction is then not what the jobs before it think it is.
		if t.failed != nil {
			return false, errors.Join(t.failed, tx.Rollback())
		}
	}
	if !changed { // conflicts only: answered from what is on disk already
		return false, tx.Rollback()
	}
	began = true
	return began, tx.Commit()
}

// release lets go of the writer's lock after a panic, so that Close returns.
func release(tx *bbolt.Tx) {
	defer func() { _ = recover() }() // the panic that matters was told
	_ = tx.Rollback()
}

// close waits for the writes that were accepted.
func (g *group) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.idle.Wait()
}

var errClosed = fmt.Errorf("%w: closed", store.ErrUnavailable)

func damaged() error { return fmt.Errorf("%w: %w", store.ErrUnavailable, ErrDamaged) }

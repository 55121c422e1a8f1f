package affinity_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/affinity"
	"holdfast/affinity/identity"
	"holdfast/affinity/store"
)

func video(w *world, id string) affinity.Task {
	return affinity.Task{
		Kind: affinity.Video, ID: id,
		Owner: affinity.Owner{Model: "sora", Endpoint: "videos", Deployment: "dep-a", Boundary: "acme", Native: true},
		Facts: affinity.Facts{
			Known: true, Started: w.Now(), Model: "sora",
			Parameters: map[string]string{"seconds": "8", "size": "1280x720", "quality": "high"},
		},
	}
}

// C9: a task goes to its owner, with its creation facts, from any process.
func TestC9TaskGoesToItsOwner(t *testing.T) {
	w := newWorld(2)
	ctx := t.Context()
	want := video(w, "v1")
	if err := w.states[0].CreateTask(ctx, alice, want); err != nil {
		t.Fatal(err)
	}
	w.serve(t, 0, turn{scope: alice, session: "s"}, "dep-b") // preferences are another matter
	w.reset()
	got, err := w.states[1].Task(ctx, alice, affinity.Video, "v1")
	if err != nil || w.counts() != "1 read, 0 swap, 0 query" {
		t.Fatalf("%v, %s", err, w.counts())
	}
	want.Owner.Created = w.Now()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(affinity.Owner{})); diff != "" {
		t.Error(diff)
	}
	for _, row := range []struct {
		name  string
		scope identity.Scope
		kind  affinity.Kind
		id    string
	}{
		{"foreign", identity.KeyScope("bob"), affinity.Video, "v1"},
		{"unknown", alice, affinity.Video, "v2"},
		{"another kind", alice, affinity.Batch, "v1"},
		{"no scope", identity.Scope{}, affinity.Video, "v1"},
	} {
		if _, err := w.states[0].Task(ctx, row.scope, row.kind, row.id); err != affinity.ErrNotFound { //nolint:errorlint // identical
			t.Errorf("%s: %v", row.name, err)
		}
		if done, err := w.states[0].FinishTask(ctx, row.scope, row.kind, row.id); done || !errors.Is(err, affinity.ErrNotFound) {
			t.Errorf("finish %s: %v %v", row.name, done, err)
		}
	}
}

// Facts never change; storing the same creation twice is no change.
func TestTaskFactsAreImmutable(t *testing.T) {
	w := newWorld(1)
	ctx, s := t.Context(), w.states[0]
	for _, row := range []struct {
		name string
		edit func(*affinity.Task)
		want error
	}{
		{"first", func(*affinity.Task) {}, nil},
		{"again", func(*affinity.Task) {}, nil},
		{"another price", func(t *affinity.Task) { t.Facts.Parameters = map[string]string{"seconds": "1"} }, affinity.ErrTaskExists},
		{"another owner", func(t *affinity.Task) { t.Owner.Deployment = "dep-b" }, affinity.ErrTaskExists},
	} {
		t.Run(row.name, func(t *testing.T) {
			task := video(w, "v1")
			row.edit(&task)
			if err := s.CreateTask(ctx, alice, task); !errors.Is(err, row.want) {
				t.Errorf("err = %v", err)
			}
			got, err := s.Task(ctx, alice, affinity.Video, "v1")
			if err != nil || got.Facts.Parameters["seconds"] != "8" || got.Owner.Deployment != "dep-a" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// Facts come first: an owner without facts cannot be seen, and facts without an
// owner are no task.
func TestTaskCreationFaults(t *testing.T) {
	for n := 1; n <= 3; n++ {
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("swap %d applied=%v", n, applied), func(t *testing.T) {
				w := newWorld(1)
				ctx, s := t.Context(), w.states[0]
				w.failing(func(op string, call int) fault {
					if op == "swap" && call == n {
						return fault{err: store.ErrUnknown, applied: applied}
					}
					return fault{}
				})
				if err := s.CreateTask(ctx, alice, video(w, "v1")); !errors.Is(err, affinity.ErrOwnershipUnavailable) {
					t.Fatal(err)
				}
				w.failing(nil)
				got, err := s.Task(ctx, alice, affinity.Video, "v1")
				if known := n == 3 || n == 2 && applied; known != (err == nil) || known && !got.Facts.Known {
					t.Errorf("%+v, %v", got, err)
				}
				if err := s.CreateTask(ctx, alice, video(w, "v1")); err != nil {
					t.Errorf("again: %v", err)
				}
				if all, _, err := s.Tasks(ctx, alice, affinity.Video, "", 0); err != nil || len(all) != 1 {
					t.Errorf("%d listed, %v", len(all), err)
				}
			})
		}
	}
}

// A task is billed once, on its terminal success.
func TestTaskIsFinishedOnce(t *testing.T) {
	w := newWorld(4)
	if err := w.states[0].CreateTask(t.Context(), alice, video(w, "v1")); err != nil {
		t.Fatal(err)
	}
	var billed atomic.Int32
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			first, err := w.states[i%4].FinishTask(t.Context(), alice, affinity.Video, "v1")
			if err != nil {
				t.Error(err)
			}
			if first {
				billed.Add(1)
			}
		})
	}
	all.Wait()
	if n := billed.Load(); n != 1 {
		t.Errorf("billed %d times", n)
	}
	known, err := w.states[1].Task(t.Context(), alice, affinity.Video, "v1")
	if err != nil || !known.Finished {
		t.Errorf("a finished task: %+v, %v", known, err)
	}
	w.Advance(6 * 24 * time.Hour)
	if first, err := w.states[0].FinishTask(t.Context(), alice, affinity.Video, "v1"); first || err != nil {
		t.Errorf("days later: %v %v", first, err)
	}
}

// between runs something after a store was read and before it is written.
type between struct {
	store.Store
	run func()
}

func (b *between) Swap(ctx context.Context, h store.Handle, r store.Record) (store.Handle, error) {
	run := b.run
	b.run = func() {}
	run()
	return b.Store.Swap(ctx, h, r)
}

// Who finds the mark set between reading and writing does not bill.
func TestTaskFinishedMeanwhile(t *testing.T) {
	w := newWorld(1)
	if err := w.states[0].CreateTask(t.Context(), alice, video(w, "v1")); err != nil {
		t.Fatal(err)
	}
	finish := func(s *affinity.State, want bool) {
		if first, err := s.FinishTask(t.Context(), alice, affinity.Video, "v1"); first != want || err != nil {
			t.Errorf("first = %v, %v; want %v", first, err, want)
		}
	}
	slow := &between{Store: w.spy, run: func() { finish(w.states[0], true) }}
	finish(affinity.New(affinity.Config{Store: slow, Now: w.Now}), false)
}

func TestTaskRetention(t *testing.T) {
	for _, row := range []struct {
		retention, after time.Duration
		alive            bool
	}{
		{0, 167 * time.Hour, true}, {400 * time.Hour, 200 * time.Hour, true}, {0, 169 * time.Hour, false},
		{time.Hour, 2 * time.Hour, false}, {affinity.Forever, 10000 * time.Hour, true},
	} {
		t.Run(fmt.Sprint(row.retention, " after ", row.after), func(t *testing.T) {
			w := newWorld(1)
			ctx, s := t.Context(), w.states[0]
			task := video(w, "v1")
			task.Retention = row.retention
			if err := s.CreateTask(ctx, alice, task); err != nil {
				t.Fatal(err)
			}
			w.Advance(row.after)
			if _, err := s.Task(ctx, alice, affinity.Video, "v1"); row.alive != (err == nil) {
				t.Errorf("err = %v", err)
			}
			first, err := s.FinishTask(ctx, alice, affinity.Video, "v1")
			if first != row.alive || row.alive != (err == nil) {
				t.Errorf("finish: %v %v", first, err)
			}
			// The mark lives as long as the task: never a second bill.
			w.Advance(190 * time.Hour)
			if first, _ := s.FinishTask(ctx, alice, affinity.Video, "v1"); first {
				t.Error("billed twice")
			}
		})
	}
}

func TestTaskList(t *testing.T) {
	w := newWorld(1)
	ctx, s := t.Context(), w.states[0]
	for i := range 5 {
		if err := s.CreateTask(ctx, alice, video(w, fmt.Sprint("v", i))); err != nil {
			t.Fatal(err)
		}
		w.Advance(time.Minute)
	}
	if err := s.CreateTask(ctx, identity.KeyScope("bob"), video(w, "foreign")); err != nil {
		t.Fatal(err)
	}
	if err := s.ForgetTask(ctx, alice, affinity.Video, "v2"); err != nil {
		t.Fatal(err)
	}
	if err := s.ForgetTask(ctx, alice, affinity.Video, "v2"); !errors.Is(err, affinity.ErrNotFound) {
		t.Errorf("forgotten twice: %v", err)
	}
	var ids []string
	for cursor, first := "", true; first || cursor != ""; first = false {
		page, next, err := s.Tasks(ctx, alice, affinity.Video, cursor, 2)
		if err != nil || len(page) > 2 {
			t.Fatalf("%d, %v", len(page), err)
		}
		for _, task := range page {
			if task.Owner.Deployment != "dep-a" || task.Facts.Model != "sora" {
				t.Errorf("%+v", task)
			}
			ids = append(ids, task.ID)
		}
		cursor = next
	}
	if diff := cmp.Diff([]string{"v4", "v3", "v1", "v0"}, ids); diff != "" {
		t.Error(diff)
	}
	if _, _, err := s.Tasks(ctx, alice, affinity.Video, "nonsense", 2); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a foreign cursor: %v", err)
	}
}

// A list goes on after the last id seen, in either order, whatever has been
// forgotten meanwhile, and says what is finished.
func TestTaskListAfter(t *testing.T) {
	w := newWorld(1)
	ctx, s := t.Context(), w.states[0]
	for i := range 30 {
		if err := s.CreateTask(ctx, alice, video(w, fmt.Sprint("v", i))); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			w.Advance(time.Second) // pairs have the same start
		}
	}
	if first, err := s.FinishTask(ctx, alice, affinity.Video, "v29"); !first || err != nil {
		t.Fatal(err)
	}
	for _, oldest := range []bool{false, true} {
		seen, after := map[string]bool{}, ""
		for more := true; more; {
			page, next, err := s.TasksAfter(ctx, alice, affinity.TaskPage{Kind: affinity.Video, After: after, OldestFirst: oldest, Limit: 7})
			if err != nil || len(page) == 0 || len(page) > 7 || next && len(page) != 7 {
				t.Fatalf("after %q: %d, %v, %v", after, len(page), next, err)
			}
			for _, task := range page {
				if seen[task.ID] || task.Finished != (task.ID == "v29") {
					t.Errorf("%s: twice %v, finished %v", task.ID, seen[task.ID], task.Finished)
				}
				seen[task.ID] = true
			}
			after, more = page[len(page)-1].ID, next
			if !oldest { // what was seen is deleted, as clients do while they page
				if err := s.ForgetTask(ctx, alice, affinity.Video, after); err != nil {
					t.Fatal(err)
				}
			}
		}
		if want := map[bool]int{false: 30, true: 25}[oldest]; len(seen) != want {
			t.Errorf("oldest first %v: %d tasks, want %d", oldest, len(seen), want)
		}
	}
	for scope, id := range map[identity.Scope]string{alice: "unknown", identity.KeyScope("bob"): "v1"} {
		if _, _, err := s.TasksAfter(ctx, scope, affinity.TaskPage{Kind: affinity.Video, After: id, Limit: 1}); !errors.Is(err, affinity.ErrNotFound) {
			t.Errorf("after %q: %v", id, err)
		}
	}
	w.failing(func(string, int) fault { return fault{err: store.ErrUnavailable} })
	if _, _, err := s.TasksAfter(ctx, alice, affinity.TaskPage{Kind: affinity.Video, Limit: 1}); !errors.Is(err, affinity.ErrOwnershipUnavailable) {
		t.Errorf("without the store: %v", err)
	}
}

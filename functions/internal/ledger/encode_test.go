package ledger

import (
	"context"
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"holdfast/affinity/store"
)

// full is an event of which no member, at any depth, has its zero value.
func full() (e Event) {
	fill(reflect.ValueOf(&e).Elem())
	e.Time, e.Explanation = time.UnixMilli(1e12).UTC(), []byte(`{"a":[1]}`)
	return e
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("a\"b")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.125)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"a\"b": "c", "d": "e"}))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	default:
		panic(v.Kind())
	}
}

// TestEncode holds what is written member by member against what the tags say.
func TestEncode(t *testing.T) {
	random, saved := rand.New(rand.NewPCG(1, 1)), -0.25
	all := []Event{{}, full(), {
		ID: "ev_1", Time: time.Date(2026, 11, 30, 12, 0, 0, 123e6, time.UTC), SessionSignal: `a"b\c<é>`, AffinityKey: "k", RuleSource: "team", Stream: true,
		Attempts: []Attempt{{Deployment: "a", Outcome: "success", Status: 200, Millis: 7, Usage: &Usage{Input: 1, Estimated: true}}, {}},
		Usage:    &Usage{1, 2, 3, 4, 5, 6, false}, Cost: &Cost{1e-9, 2, 3.25, 0, 1e22}, Saved: &saved, Labels: []string{"x", "y"},
		Cache: "hit", CacheSaved: &saved, Task: &Task{Kind: "video", ID: "v", Succeeded: true, Parameters: map[string]string{"size": "1", "seconds": "8"}}, Explanation: []byte(`{"candidates":[]}`),
	}}
	for n := range 50 {
		all = append(all, sample(random, n, time.Unix(1e9, 0)))
	}
	for _, e := range all {
		e = e.bounded()
		want, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(want, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(e.encode(), &b); err != nil {
			t.Fatalf("%v: %s", err, e.encode())
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Error(diff)
		}
		if back, err := decodeEvent(e.encode()); err != nil || cmp.Diff(e, back) != "" {
			t.Error(err, cmp.Diff(e, back))
		}
	}
	for _, b := range []batch{{Number: 7}, {Number: 8, Events: []jsontext.Value{[]byte(`{"a":1}`)}}, {Number: 9, Events: []jsontext.Value{[]byte(`{}`), []byte(`{"b":[]}`)}}} {
		want, err := json.Marshal(b)
		if err != nil || string(want) != string(b.record().Value) {
			t.Errorf("%s, want %s", b.record().Value, want)
		}
	}
}

// TestGather shows that a busy process books many events with each write, that
// each waits for a moment only, and that lone ones wait for nothing.
func TestGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const gather, write = 25 * time.Millisecond, 50 * time.Microsecond
		c, random := newClock(), rand.New(rand.NewPCG(11, 12))
		s := &watched{Store: store.NewMemory(store.MemoryConfig{Now: c.Now}), fault: func(string, int64) (bool, error) {
			time.Sleep(write)
			return false, nil
		}}
		b := New(Config{Store: s, Now: c.Now, Log: quiet(), AtOnce: 1, Gather: gather})
		for n := range 3 {
			before, begun := s.swaps.Load(), time.Now()
			if err := b.Append(t.Context(), sample(random, n, c.Now())); err != nil || time.Since(begun) != time.Duration(s.swaps.Load()-before)*write {
				t.Errorf("one after the other: an event took %v: %v", time.Since(begun), err)
			}
		}
		alone := s.swaps.Load()
		const many = 200
		slowest := make(chan time.Duration, many)
		for n := range many {
			time.Sleep(100 * time.Microsecond) // 10,000 a second
			go func() {
				came := time.Now()
				if err := b.Append(context.WithoutCancel(t.Context()), sample(random, 3+n, c.Now())); err != nil {
					t.Error(err)
				}
				slowest <- time.Since(came)
			}()
			synctest.Wait()
		}
		for range many {
			if took := <-slowest; took > 2*gather {
				t.Errorf("an event waited for %v", took)
			}
		}
		if writes := s.swaps.Load() - alone; writes > many*9/4 {
			t.Errorf("%d writes for %d events, %d for three alone", writes, many, alone)
		}
		if got := everything(t, s.Store, c); len(got) != many+3 {
			t.Errorf("%d events", len(got))
		}
	})
}

// TestHand shows that whoever leads books what others have handed over, and that
// those do not wait for it.
func TestHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, random := newClock(), rand.New(rand.NewPCG(15, 16))
		hold := make(chan struct{})
		s := &watched{Store: store.NewMemory(store.MemoryConfig{Now: c.Now}), fault: func(_ string, n int64) (bool, error) {
			if n == 1 {
				<-hold
			}
			return false, nil
		}}
		b := New(Config{Store: s, Now: c.Now, Log: quiet(), Gather: time.Millisecond})
		var after atomic.Int64
		told := func() {
			if written, _ := b.Counts(); written == 0 {
				t.Error("told before anything was booked")
			}
			after.Add(1)
		}
		led := make(chan error, 1)
		go func() { led <- b.Hand(context.WithoutCancel(t.Context()), sample(random, 0, c.Now()), told) }()
		synctest.Wait()
		const many = 2*maxBatch + 5
		for n := range many {
			if err := b.Hand(t.Context(), sample(random, 1+n, c.Now()), told); err != nil {
				t.Fatal(err)
			}
		}
		close(hold)
		if err := <-led; err != nil {
			t.Fatal(err)
		}
		if got := everything(t, s.Store, c); len(got) != many+1 || after.Load() != many+1 || b.running {
			t.Errorf("%d events when the leader returned, somebody leads: %v", len(got), b.running)
		}
		if err := b.Append(t.Context(), sample(random, 500, c.Now())); err != nil {
			t.Error(err)
		}
	})
}

// TestLeft shows that a batch is booked when those who wait for it have gone.
func TestLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, random := newClock(), rand.New(rand.NewPCG(13, 14))
		hold := make(chan struct{})
		s := &watched{Store: store.NewMemory(store.MemoryConfig{Now: c.Now}), fault: func(_ string, n int64) (bool, error) {
			if n == 1 {
				<-hold
			}
			return false, nil
		}}
		b := newBook(s, c)
		go func() { _ = b.Append(context.WithoutCancel(t.Context()), sample(random, 0, c.Now())) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		for n := range 3 {
			e := sample(random, 1+n, c.Now())
			go func() {
				if b.Append(ctx, e) == nil {
					t.Error("booked before its time")
				}
			}()
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(hold)
		synctest.Wait()
		short, end := context.WithTimeout(t.Context(), time.Second) // too short to lead a batch in
		defer end()
		if err := b.Append(short, sample(random, 9, c.Now())); err != nil {
			t.Error(err)
		}
		if got := everything(t, s.Store, c); len(got) != 5 {
			t.Errorf("%d events", len(got))
		}
	})
}

// TestHandAway shows that each who hands over is told once, also while the store
// is away and the events are booked later.
func TestHandAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, random := newClock(), rand.New(rand.NewPCG(17, 18))
		var away atomic.Bool
		away.Store(true)
		s := &watched{Store: store.NewMemory(store.MemoryConfig{Now: c.Now}), fault: func(string, int64) (bool, error) {
			if away.Load() {
				return false, store.ErrUnavailable
			}
			return false, nil
		}}
		b := newBook(s, c)
		var told [6]atomic.Int64
		for n := range told {
			go func() {
				_ = b.Hand(context.WithoutCancel(t.Context()), sample(random, n, c.Now()), func() { told[n].Add(1) })
			}()
			synctest.Wait()
			if n%2 == 1 {
				time.Sleep(time.Second)
			}
		}
		away.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for n := range told {
			if told[n].Load() != 1 {
				t.Errorf("event %d: told %d times", n, told[n].Load())
			}
		}
		if got := everything(t, s.Store, c); len(got) != len(told) {
			t.Errorf("%d events", len(got))
		}
	})
}

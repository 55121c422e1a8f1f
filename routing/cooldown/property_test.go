package cooldown

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// events draws a pool that some history of events led to.
func events(t *rapid.T, label string) Pool {
	var p Pool
	ids := []string{"a", "b", "c"}
	for range rapid.IntRange(0, 30).Draw(t, label) {
		id := rapid.SampledFrom(ids).Draw(t, "id")
		now := at(float64(rapid.IntRange(0, 200).Draw(t, "at")))
		before := p.Of(id)
		switch rapid.IntRange(0, 5).Draw(t, "event") {
		case 0, 1, 2:
			p, _ = p.Fail(Failure{
				Deployment: id, At: now,
				Session:    uint32(rapid.IntRange(0, 5).Draw(t, "session")),
				Cause:      rapid.SampledFrom([]Cause{Failing, Refused, Exhausted}).Draw(t, "cause"),
				RetryAfter: time.Duration(rapid.IntRange(0, 90).Draw(t, "retry")) * time.Second,
			}, rules)
		case 3:
			p, _ = p.Cool(id, now, now.Add(time.Duration(rapid.IntRange(0, 500).Draw(t, "span"))*time.Second), ByOperator)
		case 4:
			p, _ = p.Wake(id, now)
			continue
		case 5:
			p, _ = p.Drain(id, rapid.Bool().Draw(t, "drain"), now)
		}
		if p.Of(id).Until.Before(before.Until) {
			t.Fatalf("an event that is no wake moved the end back: %v to %v", before.Until, p.Of(id).Until)
		}
	}
	return p
}

// same compares two pools by what they will ever say.
func same(t *rapid.T, what string, a, b Pool) {
	if diff := cmp.Diff(a.rests, b.rests, cmp.AllowUnexported(rest{}, failure{}), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-a +b):\n%s", what, diff)
	}
}

func TestMergeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := events(t, "a"), events(t, "b")
		same(t, "commutative", Merge(a, b), Merge(b, a))
		same(t, "idempotent", Merge(a, Merge(a, b)), Merge(a, b))
		same(t, "nothing adds nothing", Merge(a, Pool{}), a)
	})
}

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := events(t, "p")
		now := at(float64(rapid.IntRange(0, 300).Draw(t, "now")))
		b := p.Encode(now)
		back, err := Decode(b)
		if err != nil {
			t.Fatalf("own record %x: %v", b, err)
		}
		same(t, "round trip", p.live(now), back)
		if end := p.Expires(); !end.IsZero() && len(p.Encode(end)) > 0 {
			t.Fatal("the record says something after its expiry")
		}
	})
}

func FuzzDecode(f *testing.F) {
	p, _ := Pool{}.Fail(Failure{Deployment: "a", At: start, Session: 1}, rules)
	p, _ = p.Fail(Failure{Deployment: "b", At: start, RetryAfter: time.Hour}, rules)
	p, _ = p.Drain("c", true, start)
	p, _ = p.Wake("b", at(1))
	f.Add(p.Encode(start))
	f.Add([]byte{version, 1, 1, 'a', 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Decode(b)
		if err != nil {
			if !p.Empty() {
				t.Error("an error and a pool")
			}
			return
		}
		if len(p.rests) > MaxDeployments {
			t.Errorf("%d deployments", len(p.rests))
		}
		whole := p.Encode(time.UnixMilli(0))
		again, err := Decode(whole)
		if err != nil {
			t.Fatalf("own record: %v", err)
		}
		if !bytes.Equal(again.Encode(time.UnixMilli(0)), whole) {
			t.Error("encoding is not stable")
		}
		for _, r := range p.rests {
			p, _ = p.Fail(Failure{Deployment: r.id, At: start}, rules)
			p, _ = p.Wake(r.id, start)
		}
		if _, err := Decode(Merge(p, again).Encode(start)); err != nil {
			t.Errorf("after events: %v", err)
		}
	})
}

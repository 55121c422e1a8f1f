package cooldown

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rules = Rules{AllowedFails: 3, Cooldown: time.Minute, MaxWait: 2 * time.Second}
)

func at(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// fail applies failures of deployment a, one session each unless named.
func fail(t *testing.T, p Pool, failures ...Failure) Pool {
	t.Helper()
	for _, f := range failures {
		if f.Deployment == "" {
			f.Deployment = "a"
		}
		p, _ = p.Fail(f, rules)
	}
	return p
}

func TestFailuresCool(t *testing.T) {
	rows := []struct {
		name     string
		failures []Failure
		until    time.Time // zero: not cooling
		cause    Cause
	}{
		{"two of three", []Failure{{At: at(0)}, {At: at(1)}}, time.Time{}, 0},
		{"three in a minute", []Failure{{At: at(0)}, {At: at(10)}, {At: at(59)}}, at(59 + 60), Failing},
		{"three in more than a minute", []Failure{{At: at(0)}, {At: at(10)}, {At: at(60)}}, time.Time{}, 0},
		{"the window slides", []Failure{{At: at(0)}, {At: at(50)}, {At: at(70)}, {At: at(80)}}, at(140), Failing},
		{"one session counts once", []Failure{{At: at(0), Session: 7}, {At: at(1), Session: 7}, {At: at(2), Session: 7}, {At: at(3), Session: 7}}, time.Time{}, 0},
		{"the same session counts again after a minute", []Failure{{At: at(0), Session: 7}, {At: at(60), Session: 7}, {At: at(61), Session: 8}, {At: at(62), Session: 9}}, at(122), Failing},
		{"three sessions", []Failure{{At: at(0), Session: 7}, {At: at(1), Session: 8}, {At: at(2), Session: 9}}, at(62), Failing},
		{"clocks that lag", []Failure{{At: at(30), Session: 7}, {At: at(0), Session: 7}, {At: at(10), Session: 8}}, time.Time{}, 0},
		{"a short Retry-After counts as one", []Failure{{At: at(0), RetryAfter: 2 * time.Second}}, time.Time{}, 0},
		{"a long Retry-After cools at once", []Failure{{At: at(0), RetryAfter: 3 * time.Second}}, at(3), Asked},
		{"even from a session that has counted", []Failure{{At: at(0), Session: 7}, {At: at(1), Session: 7, RetryAfter: 30 * time.Second}}, at(31), Asked},
		{"an empty account cools at once", []Failure{{At: at(0), Cause: Exhausted}}, at(60), Exhausted},
		{"and no shorter than the cooldown", []Failure{{At: at(0), Cause: Exhausted, RetryAfter: 5 * time.Second}}, at(60), Exhausted},
		{"but as long as it asks", []Failure{{At: at(0), Cause: Exhausted, RetryAfter: time.Hour}}, at(3600), Exhausted},
		{"three refused credentials", []Failure{{At: at(0), Cause: Refused}, {At: at(1), Cause: Refused}, {At: at(2), Cause: Refused}}, at(62), Refused},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := fail(t, Pool{}, row.failures...).Of("a")
			if !s.Until.Equal(row.until) || s.Cause != row.cause {
				t.Errorf("until %v cause %v, want %v %v", s.Until, s.Cause, row.until, row.cause)
			}
		})
	}
}

// TestOnlyExtends holds R7: re-cooling keeps the later end.
func TestOnlyExtends(t *testing.T) {
	p := fail(t, Pool{}, Failure{At: at(0), RetryAfter: time.Hour})
	p = fail(t, p, Failure{At: at(1), RetryAfter: 10 * time.Second})
	p, changed := p.Cool("a", at(2), at(60), ByOperator)
	if changed {
		t.Error("a shorter cooldown was written")
	}
	p = fail(t, p, Failure{At: at(3)}, Failure{At: at(4)}, Failure{At: at(5)})
	if s := p.Of("a"); !s.Until.Equal(at(3600)) || s.Cause != Asked {
		t.Errorf("until %v cause %v, want the hour that was asked for", s.Until, s.Cause)
	}
	p, _ = p.Cool("a", at(6), at(7200), ByOperator)
	if s := p.Of("a"); !s.Until.Equal(at(7200)) || s.Cause != ByOperator {
		t.Errorf("until %v cause %v, want the later end", s.Until, s.Cause)
	}
}

func TestCleanSheetAfterCooling(t *testing.T) {
	short := Rules{AllowedFails: 2, Cooldown: time.Second, MaxWait: time.Second}
	p, _ := Pool{}.Fail(Failure{Deployment: "a", At: at(0)}, short)
	p, _ = p.Fail(Failure{Deployment: "a", At: at(1)}, short)
	if !p.Of("a").Cooling(at(1.5)) || p.Of("a").Cooling(at(2)) {
		t.Fatalf("cooling %+v, want from 1 s to 2 s", p.Of("a"))
	}
	p, _ = p.Fail(Failure{Deployment: "a", At: at(3)}, short)
	if p.Of("a").Cooling(at(3)) {
		t.Error("one failure after waking cooled again: spent failures count twice")
	}
}

// TestSessionCountsOnceAcrossACooldown holds R9 where the cooldown is shorter
// than the minute.
func TestSessionCountsOnceAcrossACooldown(t *testing.T) {
	short := Rules{AllowedFails: 2, Cooldown: time.Second, MaxWait: time.Second}
	var p Pool
	for i, session := range []uint32{7, 8, 7, 8, 7} {
		p, _ = p.Fail(Failure{Deployment: "a", At: at(float64(10 * i)), Session: session}, short)
	}
	if s := p.Of("a"); !s.Until.Equal(at(11)) {
		t.Errorf("until %v, want one cooldown only, until %v", s.Until, at(11))
	}
}

func TestAllowedFailsIsBounded(t *testing.T) {
	p, _ := Pool{}.Fail(Failure{Deployment: "a", At: at(0)}, Rules{AllowedFails: 0, Cooldown: time.Minute, MaxWait: time.Second})
	if !p.Of("a").Cooling(at(1)) {
		t.Error("allowed_fails 0: the first failure does not cool")
	}
	p = Pool{}
	many := Rules{AllowedFails: MaxFailures + 50, Cooldown: time.Minute, MaxWait: time.Second}
	for i := range MaxFailures {
		p, _ = p.Fail(Failure{Deployment: "a", At: at(float64(i) / 100)}, many)
	}
	if !p.Of("a").Cooling(at(3)) {
		t.Error("the most that is remembered does not cool")
	}
}

func TestNothingLearnedNothingWritten(t *testing.T) {
	p := fail(t, Pool{}, Failure{At: at(0), Session: 7})
	awake, _ := p.Wake("a", at(5))
	rows := map[string]func() (Pool, bool){
		"same session":        func() (Pool, bool) { return p.Fail(Failure{Deployment: "a", At: at(1), Session: 7}, rules) },
		"older than the wake": func() (Pool, bool) { return awake.Fail(Failure{Deployment: "a", At: at(4)}, rules) },
		"nobody":              func() (Pool, bool) { return p.Fail(Failure{At: at(1)}, rules) },
		"id too long": func() (Pool, bool) {
			return p.Fail(Failure{Deployment: string(make([]byte, MaxID+1)), At: at(1)}, rules)
		},
		"wake of a stranger": func() (Pool, bool) { return p.Wake("b", at(1)) },
		"no drain to end":    func() (Pool, bool) { return p.Drain("a", false, at(1)) },
	}
	for name, event := range rows {
		next, changed := event()
		if same := string(next.Encode(at(1))); changed || same != string(p.Encode(at(1))) && same != string(awake.Encode(at(1))) {
			t.Errorf("%s: changed = %v", name, changed)
		}
	}
}

func TestWakeAndDrain(t *testing.T) {
	p := fail(t, Pool{}, Failure{At: at(0), RetryAfter: time.Hour})
	before := p
	p, changed := p.Wake("a", at(10))
	if !changed || p.Of("a").Cooling(at(11)) {
		t.Fatalf("after wake: changed %v, %+v", changed, p.Of("a"))
	}
	if m := Merge(before, p); m.Of("a").Cooling(at(11)) {
		t.Error("a straggler's view undid the wake")
	}
	again, _ := p.Cool("a", at(10), at(100), Failing)
	if m := Merge(before, again); !m.Of("a").Until.Equal(at(100)) {
		t.Errorf("a cooldown after the wake: until %v", m.Of("a").Until)
	}
	p, _ = p.Drain("a", true, at(20))
	if !p.Of("a").Drained || !p.Expires().IsZero() {
		t.Errorf("drained %v, expires %v; a drain lasts", p.Of("a").Drained, p.Expires())
	}
	if later, err := Decode(p.Encode(at(1e6))); err != nil || !later.Of("a").Drained {
		t.Errorf("days later: drained %v, %v", later.Of("a").Drained, err)
	}
	ended, changed := p.Drain("a", false, at(20))
	if !changed || ended.Of("a").Drained || Merge(p, ended).Of("a").Drained {
		t.Error("the end of a drain in the same instant did not win")
	}
}

func TestWakeWithALaggingClock(t *testing.T) {
	p := fail(t, Pool{}, Failure{At: at(10), RetryAfter: time.Hour})
	p, _ = p.Wake("a", at(5))
	if p.Of("a").Cooling(at(11)) {
		t.Error("still cooling after a wake by a clock that lags")
	}
	p, _ = p.Cool("a", at(6), at(60), Failing)
	if !p.Of("a").Cooling(at(11)) {
		t.Error("a new cooldown by the lagging clock is void")
	}
}

func TestRecordLivesAsLongAsItSaysSomething(t *testing.T) {
	p := fail(t, Pool{}, Failure{At: at(0)}, Failure{Deployment: "b", At: at(0), RetryAfter: 90 * time.Second})
	if e := p.Expires(); !e.Equal(at(90)) {
		t.Errorf("expires %v, want %v", e, at(90))
	}
	later, err := Decode(p.Encode(at(61)))
	if err != nil {
		t.Fatal(err)
	}
	if later.Of("a").Fails != 0 || !later.Of("b").Cooling(at(61)) {
		t.Errorf("after a minute: a %+v, b %+v", later.Of("a"), later.Of("b"))
	}
	if b := p.Encode(at(90)); b != nil {
		t.Errorf("when all is over the record is %x, want none", b)
	}
}

func TestBounded(t *testing.T) {
	var p Pool
	for i := range MaxDeployments + 10 {
		p, _ = p.Cool(fmt.Sprintf("d%03d", i), at(0), at(float64(1000+i)), Asked)
	}
	p, _ = p.Drain("d000", true, at(1))
	p, err := Decode(p.Encode(at(2)))
	if err != nil {
		t.Fatal(err)
	}
	if !p.Of("d000").Drained || p.Of("d001").Cooling(at(2)) || !p.Of("d265").Cooling(at(2)) {
		t.Error("kept other states than the drain and the longest cooldowns")
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := fail(t, Pool{}, Failure{At: at(0), Session: 1}, Failure{Deployment: "b", At: at(0), RetryAfter: time.Hour}).Encode(at(0))
	if _, err := Decode(good); err != nil {
		t.Fatal(err)
	}
	if p, err := Decode(nil); err != nil || !p.Empty() {
		t.Errorf("no bytes: %v, %v", p, err)
	}
	bad := map[string][]byte{
		"another version": append([]byte{9}, good[1:]...),
		"one byte more":   append(append([]byte{}, good...), 0),
		"only a version":  {version},
		"count of none":   {version, 0},
		"huge count":      {version, 0xff, 0xff, 0xff, 0xff, 0x0f},
	}
	for i := 1; i < len(good); i++ {
		bad[fmt.Sprintf("cut at %d", i)] = good[:i]
	}
	for name, b := range bad {
		if p, err := Decode(b); !errors.Is(err, ErrInvalid) || !p.Empty() {
			t.Errorf("%s: %v, %v; want ErrInvalid and nothing", name, p, err)
		}
	}
}

func TestCauses(t *testing.T) {
	for c, transient := range map[Cause]bool{Failing: true, Asked: true, ByOperator: true, Refused: false, Exhausted: false} {
		if c.Transient() != transient || c.String() == "unknown" {
			t.Errorf("%v: transient %v", c, c.Transient())
		}
	}
	if Cause(99).String() != "unknown" {
		t.Error("a cause that is none has a name")
	}
}

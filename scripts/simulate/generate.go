package main

import (
	"container/heap"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
)

// shape is what generated conversations are like.
type shape struct {
	sessions  int
	perSecond float64 // new ones
	turns     float64 // mean of a geometric distribution
	opening   float64 // mean tokens, log-normal
	growth    float64 // mean tokens a turn, log-normal
	output    float64 // mean tokens of an answer, log-normal
	think     float64 // mean seconds between turns, log-normal: many short, some very long
	shared    int     // tokens
	agents    float64 // mean sub-agents of a session, begun with its turns
	speed     float64 // output tokens a second
	seed      uint64
}

func defaultShape() shape {
	return shape{sessions: 10_000, perSecond: 2, turns: 12, opening: 3000, growth: 900, output: 350, think: 60, shared: 6000, agents: 0.3, speed: 80, seed: 1}
}

func (s shape) check() error {
	if s.sessions < 1 || s.sessions > 10_000_000 || !(s.perSecond > 0) || !(s.turns >= 1) || s.shared < 0 || s.agents < 0 ||
		!(s.opening > 0 && s.growth > 0 && s.output > 0 && s.think >= 0 && s.speed > 0) {
		return errors.New("sessions, rate, turns and sizes must be above 0, with 1 to 10,000,000 sessions")
	}
	return nil
}

// thread is a lane of a living conversation with the time of its next turn.
type thread struct {
	next    float64
	session string
	lane    string
	left    int // turns
	begun   bool
	input   int // of the last turn
	output  int
}

// threads is a heap by the time of the next turn.
type threads []*thread

// Len, Less, Swap, Push and Pop are container/heap's.
func (t threads) Len() int           { return len(t) }
func (t threads) Less(i, j int) bool { return t[i].next < t[j].next }
func (t threads) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *threads) Push(x any)        { *t = append(*t, x.(*thread)) }
func (t *threads) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

// generate makes a trace: sessions arrive by a Poisson process, each grows turn
// by turn and re-sends its whole history, as agents do.
func generate(s shape) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		random := rand.New(rand.NewPCG(s.seed, 7))
		var living threads
		arrival := 0.0
		for made := 0; made < s.sessions || len(living) > 0; {
			if made < s.sessions && (len(living) == 0 || arrival <= living[0].next) {
				heap.Push(&living, &thread{next: arrival, session: "s" + strconv.Itoa(made), left: geometric(random, s.turns)})
				made++
				arrival += random.ExpFloat64() / s.perSecond
				continue
			}
			t := living[0]
			r := s.turn(random, t)
			if !yield(r, nil) {
				return
			}
			s.spawn(random, &living, t, r)
			t.left--
			t.next = r.At + r.Seconds + skewed(random, s.think)
			if t.left > 0 {
				heap.Fix(&living, 0)
			} else {
				heap.Remove(&living, 0)
			}
		}
	}
}

// turn is a thread's next request.
func (s shape) turn(random *rand.Rand, t *thread) Request {
	r := Request{At: t.next, Session: t.session, Lane: t.lane, Shared: s.shared, Output: max(1, int(skewed(random, s.output)))}
	if t.begun {
		r.Kept = t.input + t.output
		r.Input = r.Kept + max(1, int(skewed(random, s.growth)))
	} else {
		r.Input = s.shared + max(1, int(skewed(random, s.opening)))
	}
	r.Seconds = float64(r.Output) / s.speed
	t.begun, t.input, t.output = true, r.Input, r.Output
	return r
}

// spawn begins sub-agents of a session while its own thread is answered.
func (s shape) spawn(random *rand.Rand, living *threads, parent *thread, r Request) {
	if parent.lane != "" || random.Float64() >= s.agents/s.turns {
		return
	}
	heap.Push(living, &thread{
		next: r.At + r.Seconds, session: parent.session, lane: "a" + strconv.Itoa(random.IntN(1<<30)),
		left: geometric(random, max(1, s.turns/2)),
	})
}

// geometric is a number of turns, at least 1, with a mean.
func geometric(random *rand.Rand, mean float64) int {
	if mean <= 1 {
		return 1
	}
	return 1 + int(math.Log(1-random.Float64())/math.Log(1-1/mean))
}

// skewed is log-normal with a mean: most values are smaller, a few much larger.
func skewed(random *rand.Rand, mean float64) float64 {
	const sigma = 1.0
	return mean * math.Exp(sigma*random.NormFloat64()-sigma*sigma/2)
}

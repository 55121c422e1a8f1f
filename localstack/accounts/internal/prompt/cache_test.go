package prompt_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/localstack/accounts/internal/prompt"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// tokens is text of exactly n tokens in its canonical form.
func tokens(label string, n int) string {
	return label + strings.Repeat("x", n*prompt.TokenBytes-1-len(label)) // one byte begins a text block
}

// ask writes text blocks as one automatically cached prompt.
func ask(c *prompt.Cache, model string, blocks ...string) *prompt.Prefix {
	p := c.Prefix("chat", model)
	for _, b := range blocks {
		p.Text(b)
	}
	p.Auto(0)
	return p
}

func TestUse(t *testing.T) {
	type turn struct {
		name   string
		model  string
		blocks []string
		at     time.Duration
		want   prompt.Use
	}
	for _, tc := range []struct {
		name  string
		turns []turn
	}{
		{"written once, read from then on", []turn{
			{"first", "m", []string{tokens("a", 2000)}, 0, prompt.Use{Total: 2000, WriteShort: 1920}},
			{"again", "m", []string{tokens("a", 2000)}, 0, prompt.Use{Total: 2000, Read: 1920}},
			{"longer", "m", []string{tokens("a", 2000), tokens("b", 300)}, 0, prompt.Use{Total: 2300, Read: 1920, WriteShort: 256}},
		}},
		{"1,024 tokens are the least", []turn{
			{"1023", "m", []string{tokens("a", 1023)}, 0, prompt.Use{Total: 1023}},
			{"1023 again", "m", []string{tokens("a", 1023)}, 0, prompt.Use{Total: 1023}},
			{"1024", "m", []string{tokens("a", 1023), tokens("b", 1)}, 0, prompt.Use{Total: 1024, WriteShort: 1024}},
			{"1024 again", "m", []string{tokens("a", 1023), tokens("b", 1)}, 0, prompt.Use{Total: 1024, Read: 1024}},
		}},
		{"a shared beginning is read by another conversation", []turn{
			{"one", "m", []string{tokens("system", 1500), tokens("one", 500)}, 0, prompt.Use{Total: 2000, WriteShort: 1920}},
			{"two", "m", []string{tokens("system", 1500), tokens("two", 500)}, 0, prompt.Use{Total: 2000, Read: 1408, WriteShort: 512}},
		}},
		{"a change at the front loses everything", []turn{
			{"one", "m", []string{tokens("a", 2000)}, 0, prompt.Use{Total: 2000, WriteShort: 1920}},
			{"other", "m", []string{tokens("b", 2000)}, 0, prompt.Use{Total: 2000, WriteShort: 1920}},
		}},
		{"another model has another cache", []turn{
			{"m", "m", []string{tokens("a", 2000)}, 0, prompt.Use{Total: 2000, WriteShort: 1920}},
			{"n", "n", []string{tokens("a", 2000)}, 0, prompt.Use{Total: 2000, WriteShort: 1920}},
		}},
		{"a block boundary is part of the prompt", []turn{
			{"split", "m", []string{"ab", tokens("c", 1500)}, 0, prompt.Use{Total: 1501, WriteShort: 1408}},
			{"joined", "m", []string{"abc", tokens("", 1500)[3:]}, 0, prompt.Use{Total: 1501, WriteShort: 1408}},
		}},
		{"it expires five minutes after the last use", []turn{
			{"first", "m", []string{tokens("a", 1280)}, 0, prompt.Use{Total: 1280, WriteShort: 1280}},
			{"4:59", "m", []string{tokens("a", 1280)}, 299 * time.Second, prompt.Use{Total: 1280, Read: 1280}},
			{"9:58", "m", []string{tokens("a", 1280)}, 598 * time.Second, prompt.Use{Total: 1280, Read: 1280}},
			{"14:58", "m", []string{tokens("a", 1280)}, 898 * time.Second, prompt.Use{Total: 1280, WriteShort: 1280}},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := prompt.NewCache(5*time.Minute, 0)
			for _, turn := range tc.turns {
				got := c.Use(ask(c, turn.model, turn.blocks...), start.Add(turn.at))
				if diff := cmp.Diff(turn.want, got); diff != "" {
					t.Errorf("%s: (-want +got)\n%s", turn.name, diff)
				}
			}
		})
	}
}

func TestMarks(t *testing.T) {
	c := prompt.NewCache(5*time.Minute, 0)
	marked := func(long, short bool) *prompt.Prefix {
		p := c.Prefix("messages", "m")
		p.Text(tokens("tools", 1280))
		if long {
			p.Mark(prompt.Long)
		}
		p.Text(tokens("history", 640))
		if short {
			p.Mark(0)
		}
		p.Text(tokens("last", 100))
		return p
	}
	for _, tc := range []struct {
		name        string
		long, short bool
		at          time.Duration
		want        prompt.Use
	}{
		{"no mark, nothing written", false, false, 0, prompt.Use{Total: 2020}},
		{"an hour first, five minutes behind", true, true, 0, prompt.Use{Total: 2020, WriteLong: 1280, WriteShort: 640}},
		{"both are read", true, true, time.Minute, prompt.Use{Total: 2020, Read: 1920}},
		{"reading stops at the last mark", true, false, time.Minute, prompt.Use{Total: 2020, Read: 1280}},
		{"after ten minutes the hour is left", true, true, 11 * time.Minute, prompt.Use{Total: 2020, Read: 1280, WriteShort: 640}},
		{"after two hours nothing is", true, true, 2 * time.Hour, prompt.Use{Total: 2020, WriteLong: 1280, WriteShort: 640}},
	} {
		got := c.Use(marked(tc.long, tc.short), start.Add(tc.at))
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tc.name, diff)
		}
		if got.Read+got.WriteShort+got.WriteLong+got.Fresh() != got.Total {
			t.Errorf("%s: the parts of %+v do not add up", tc.name, got)
		}
	}
}

// A conversation that grows by its own answers reads all of its earlier
// prefix, to the step, whatever the sizes of its turns.
func TestGrowingConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := prompt.NewCache(5*time.Minute, 0)
		var blocks []string
		before := 0
		for i := range rapid.IntRange(2, 8).Draw(t, "turns") {
			blocks = append(blocks, fmt.Sprint("user ", i, strings.Repeat("u", rapid.IntRange(0, 6000).Draw(t, "user"))))
			p := ask(c, "m", blocks...)
			use := c.Use(p, start)
			want := before / prompt.StepTokens * prompt.StepTokens
			if want < prompt.MinTokens {
				want = 0
			}
			if use.Read != want {
				t.Fatalf("turn %d read %d of %d earlier tokens, want %d", i, use.Read, before, want)
			}
			reply := fmt.Sprint("answer ", i, strings.Repeat("a", rapid.IntRange(0, 6000).Draw(t, "answer")))
			p.Text(reply)
			c.Extend(p, start)
			blocks = append(blocks, reply)
			before = p.Size() / prompt.TokenBytes // whole tokens: a half one may still change
		}
	})
}

func TestIdenticalFirstRequestsWriteOnce(t *testing.T) {
	c := prompt.NewCache(5*time.Minute, 0)
	uses := make([]prompt.Use, 32)
	var group sync.WaitGroup
	for i := range uses {
		group.Go(func() { uses[i] = c.Use(ask(c, "m", tokens("a", 4096)), start) })
	}
	group.Wait()
	writers := 0
	for _, u := range uses {
		switch {
		case u.WriteShort == 4096 && u.Read == 0:
			writers++
		case u.Read != 4096 || u.WriteShort != 0:
			t.Errorf("neither all written nor all read: %+v", u)
		}
	}
	if s := c.Stats(); writers != 1 || s.Writes != 1 || s.Cold != 1 || s.Hits != 31 || s.TokensWritten != 4096 {
		t.Errorf("%d writers, stats %+v; want one writer", writers, s)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	const bound = 64 * prompt.StepTokens
	c := prompt.NewCache(time.Hour, bound)
	for i := range 1000 {
		c.Use(ask(c, "m", tokens(fmt.Sprint(i), 1280)), start)
		if s := c.Stats(); s.Entries > bound/prompt.StepTokens {
			t.Fatalf("%d steps are held after %d prompts, the bound is %d", s.Entries, i+1, bound/prompt.StepTokens)
		}
	}
	if use := c.Use(ask(c, "m", tokens("999", 1280)), start); use.Read != 1280 {
		t.Errorf("the latest prompt was forgotten: %+v", use)
	}
	if use := c.Use(ask(c, "m", tokens("0", 1280)), start); use.Read != 0 {
		t.Errorf("the oldest prompt is still there: %+v", use)
	}
}

// What is still used outlives what came after it.
func TestUsedPromptsSurvive(t *testing.T) {
	c := prompt.NewCache(time.Hour, 64*prompt.StepTokens)
	for i := range 200 {
		if use := c.Use(ask(c, "m", tokens("kept", 1280)), start); i > 0 && use.Read != 1280 {
			t.Fatalf("after %d other prompts the kept one read %d", i, use.Read)
		}
		c.Use(ask(c, "m", tokens(fmt.Sprint(i), 1280)), start)
	}
}

func TestClear(t *testing.T) {
	c := prompt.NewCache(time.Hour, 0)
	c.Use(ask(c, "m", tokens("a", 1280)), start)
	c.Clear()
	if diff := cmp.Diff(prompt.Stats{}, c.Stats()); diff != "" {
		t.Error(diff)
	}
	if use := c.Use(ask(c, "m", tokens("a", 1280)), start); use.Read != 0 {
		t.Errorf("read %d from an empty cache", use.Read)
	}
}

// Equal arguments in another order or spacing are the same call.
func TestCallArgumentsAreCanonical(t *testing.T) {
	c := prompt.NewCache(time.Hour, 0)
	call := func(arguments string) *prompt.Prefix {
		p := c.Prefix("chat", "m")
		p.Call("id", "name", arguments)
		p.Text(tokens("rest", 1280))
		p.Auto(0)
		return p
	}
	c.Use(call(`{"a":1,"b":[true]}`), start)
	if use := c.Use(call(`{ "b": [true], "a": 1 }`), start); use.Read == 0 {
		t.Errorf("the same arguments were not recognised: %+v", use)
	}
	if use := c.Use(call(`{"a":2,"b":[true]}`), start); use.Read != 0 {
		t.Errorf("other arguments were taken for the same: %+v", use)
	}
}

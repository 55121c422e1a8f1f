package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"holdfast/localstack/accounts"
	"holdfast/localstack/e2e/process"
)

// The conversations that are both simulated and held.
const (
	talks       = 1000
	answerSize  = 64   // tokens
	systemSize  = 1500 // tokens that all of them begin with
	tolerance   = 0.02
	atOnce      = 8
	bytesAToken = 4 // of the simulated accounts
)

// script is one conversation's requests, in order.
type script []Request

// scripts are small conversations in quick succession: no cache expires while
// they are really held.
func scripts() []script {
	s := defaultShape()
	s.sessions, s.turns, s.opening, s.growth, s.think, s.shared, s.agents, s.perSecond, s.speed = talks, 4, 900, 250, 0, systemSize, 0, 1e6, 1e9
	by := map[string]int{}
	var all []script
	for r, err := range generate(s) {
		if err != nil {
			panic(err) // generate makes none
		}
		n, known := by[r.Session]
		if !known {
			n = len(all)
			by[r.Session], all = n, append(all, nil)
		}
		if last := len(all[n]) - 1; last >= 0 { // the accounts' answers have one size
			grown := r.Input - r.Kept
			r.Kept = all[n][last].Input + answerSize
			r.Input = r.Kept + grown
		}
		r.Output = answerSize
		all[n] = append(all[n], r)
	}
	return all
}

// trace is all scripts as the simulator plays them.
func trace(all []script) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		at := 0.0
		for turn := 0; ; turn++ {
			left := false
			for _, s := range all {
				if turn >= len(s) {
					continue
				}
				left = true
				r := s[turn]
				at += 1e-6
				r.At = at
				if !yield(r, nil) {
					return
				}
			}
			if !left {
				return
			}
		}
	}
}

// TestAgreesWithARealRun: the same thousand conversations, held through the real
// gateway with the accounts of the demo, read the same share of their input from
// caches as the simulator says, with sessions kept together and without.
func TestAgreesWithARealRun(t *testing.T) {
	all := scripts()
	binary, err := process.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := defaultWorld()
	w.accounts, w.instances = 3, 1
	results, err := simulate(w, policies(), trace(all))
	if err != nil {
		t.Fatal(err)
	}
	simulated := map[string]float64{}
	for _, r := range results {
		simulated[r.Policy] = r.Hit()
	}
	for policy, extra := range map[string]string{"holdfast": "", "none": "affinity: {enabled: false}\n"} {
		real := hold(t, binary, extra, all)
		t.Logf("%s: simulated %.2f %%, real %.2f %%", policy, 100*simulated[policy], 100*real)
		if math.Abs(real-simulated[policy]) > tolerance {
			t.Errorf("%s: simulated %.4f, real %.4f", policy, simulated[policy], real)
		}
	}
	if simulated["holdfast"]-simulated["none"] < 0.1 {
		t.Errorf("the two policies are too alike to prove anything: %v", simulated)
	}
}

// hold lets all conversations take place and returns the share of their input
// that the accounts say was cached.
func hold(t *testing.T, binary, extra string, all []script) float64 {
	t.Helper()
	var configs []accounts.Config
	for _, name := range []string{"alpha", "bravo", "charlie"} {
		configs = append(configs, accounts.Config{Name: name, AnswerTokens: answerSize, Journal: -1})
	}
	fleet := accounts.StartConfigT(t, configs...)
	var doc strings.Builder
	doc.WriteString("connections:\n")
	for _, a := range fleet.Accounts() {
		fmt.Fprintf(&doc, "  - {id: %s, provider: openai-compatible, base_url: %s/v1, auth: {type: none}, allow_private_network: true}\n", a.Name(), fleet.URL(a.Name()))
	}
	doc.WriteString("deployments:\n")
	for _, a := range fleet.Accounts() {
		fmt.Fprintf(&doc, "  - {id: chat-%s, model: chat, connection: %s, protocol: chat}\n", a.Name(), a.Name())
	}
	fmt.Fprintf(&doc, "keys: [{id: sim, key: sk-simulated}]\n%s", extra)
	gateway, err := process.Start(process.Options{Binary: binary, Config: doc.String(), Data: t.TempDir(), Unread: true})
	if err != nil {
		t.Fatal(err)
	}
	defer gateway.Kill()
	var mu sync.Mutex
	input, cached := 0, 0
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(atOnce)
	for n, s := range all {
		group.Go(func() error {
			in, read, err := converse(ctx, gateway.URL, n, s)
			mu.Lock()
			defer mu.Unlock()
			input, cached = input+in, cached+read
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return float64(cached) / float64(input)
}

// reply is an answer as far as it matters here.
type reply struct {
	Choices []struct{ Message struct{ Content string } }
	Usage   struct {
		Prompt  int `json:"prompt_tokens"`
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

// converse holds one conversation of the sizes that its script says.
func converse(ctx context.Context, url string, number int, s script) (input, cached int, _ error) {
	turns := []map[string]string{{"role": "system", "content": words("", systemSize)}}
	for i, r := range s {
		fresh := r.Input - systemSize
		if i > 0 {
			fresh = r.Input - r.Kept
		}
		turns = append(turns, map[string]string{"role": "user", "content": words(fmt.Sprintf("Conversation %d, turn %d.", number, i), fresh)})
		body, err := json.Marshal(map[string]any{"model": "chat", "messages": turns})
		if err != nil {
			return 0, 0, err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
		if err != nil {
			return 0, 0, err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer sk-simulated")
		request.Header.Set("X-Session-Id", fmt.Sprint("talk-", number))
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, 0, err
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		var got reply
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil || response.StatusCode != http.StatusOK || len(got.Choices) != 1 {
			return 0, 0, fmt.Errorf("status %d: %w %.300s", response.StatusCode, err, text)
		}
		input, cached = input+got.Usage.Prompt, cached+got.Usage.Details.Cached
		turns = append(turns, map[string]string{"role": "assistant", "content": got.Choices[0].Message.Content})
	}
	return input, cached, nil
}

// words is text of about so many tokens behind a beginning.
func words(begin string, tokens int) string {
	return begin + strings.Repeat(" and", max(0, tokens*bytesAToken-len(begin))/4)
}

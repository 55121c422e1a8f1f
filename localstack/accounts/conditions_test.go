package accounts_test

import (
	"fmt"
	"net/http"
	"testing"

	"holdfast/localstack/accounts"
)

// Whom a fault strikes.
func TestConditions(t *testing.T) {
	const body = `{"model":"m","messages":[{"role":"user","content":"the word pineapple"}]}`
	yes, no := true, false
	for _, tc := range []struct {
		name  string
		fault accounts.Fault
		want  bool
	}{
		{"everybody", accounts.Fault{}, true},
		{"text in the body", accounts.Fault{Match: "pineapple"}, true},
		{"other text", accounts.Fault{Match: "banana"}, false},
		{"model", accounts.Fault{Model: "m"}, true},
		{"another model", accounts.Fault{Model: "n"}, false},
		{"protocol", accounts.Fault{Protocol: accounts.Chat}, true},
		{"another protocol", accounts.Fault{Protocol: accounts.Messages}, false},
		{"operation", accounts.Fault{Operation: "create"}, true},
		{"another operation", accounts.Fault{Operation: "count_tokens"}, false},
		{"key", accounts.Fault{Key: accounts.KeyHash("sk-one")}, true},
		{"another key", accounts.Fault{Key: accounts.KeyHash("sk-two")}, false},
		{"JSON", accounts.Fault{Stream: &no}, true},
		{"streams", accounts.Fault{Stream: &yes}, false},
	} {
		a, url := start(t, accounts.Config{})
		tc.fault.Kind = accounts.ServerError
		accounts.InjectT(t, a, tc.fault)
		got := must(t, http.MethodPost, url+"/v1/chat/completions", body, "Authorization", "Bearer sk-one")
		if (got.status == 500) != tc.want {
			t.Errorf("%s: struck %v, want %v", tc.name, got.status == 500, tc.want)
		}
	}
}

// Faults strike in the order in which they were armed, as often as they say.
func TestOrderAndTimes(t *testing.T) {
	a, url := start(t, accounts.Config{})
	accounts.InjectT(t, a, accounts.Fault{Kind: accounts.RateLimit, Times: 2})
	id := accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ServerError, Status: 503})
	target := targets(false)[0]
	var got []int
	for range 4 {
		got = append(got, must(t, http.MethodPost, url+target.path, target.body).status)
	}
	if list := a.Faults(); len(list) != 1 || list[0].ID != id || list[0].Struck != 2 {
		t.Errorf("armed: %+v", list)
	}
	if !a.Remove(id) || a.Remove(id) {
		t.Error("a fault can be removed once")
	}
	got = append(got, must(t, http.MethodPost, url+target.path, target.body).status)
	if fmt.Sprint(got) != "[429 429 503 503 200]" {
		t.Errorf("%v", got)
	}
}

// A chance is drawn from its seed, the same in every run.
func TestProbability(t *testing.T) {
	draw := func(seed uint64) (pattern string, struck int) {
		a, url := start(t, accounts.Config{})
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ServerError, Probability: 0.3, Seed: seed})
		target := targets(false)[0]
		for range 100 {
			status := must(t, http.MethodPost, url+target.path, target.body).status
			pattern += fmt.Sprint(status/100, " ")
			if status == 500 {
				struck++
			}
		}
		return pattern, struck
	}
	one, struck := draw(1)
	if again, _ := draw(1); again != one {
		t.Error("the same seed drew differently")
	}
	if other, _ := draw(2); other == one {
		t.Error("another seed drew the same")
	}
	if struck < 15 || struck > 45 {
		t.Errorf("%d of 100 calls were struck, want about 30", struck)
	}
}

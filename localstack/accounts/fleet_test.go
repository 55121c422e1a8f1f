package accounts_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

func TestFleet(t *testing.T) {
	fleet := accounts.StartT(t, "alpha", "bravo")
	if fleet.URL("charlie") != "" || fleet.Account("charlie") != nil {
		t.Error("an unknown account was found")
	}
	must(t, http.MethodPost, fleet.URL("alpha")+"/v1/chat/completions", hello)
	if fleet.Account("alpha").Count() != 1 || fleet.Account("bravo").Count() != 0 || fleet.Count() != 1 || len(fleet.Accounts()) != 2 {
		t.Errorf("alpha %d, bravo %d", fleet.Account("alpha").Count(), fleet.Account("bravo").Count())
	}
}

func TestNamesMustDiffer(t *testing.T) {
	if _, err := accounts.Start("alpha", "alpha"); err == nil {
		t.Error("two accounts of one name were started")
	}
}

func TestAddressMustBeFree(t *testing.T) {
	fleet := accounts.StartT(t, "alpha")
	if _, err := accounts.StartConfig(accounts.Config{Name: "bravo"}, accounts.Config{Name: "other", Address: fleet.URL("alpha")[len("http://"):]}); err == nil {
		t.Error("an address was taken twice")
	}
}

// A dead account refuses connections, and comes back where it was, with what
// it remembers.
func TestDownAndUp(t *testing.T) {
	fleet := accounts.StartT(t, "alpha")
	url := fleet.URL("alpha")
	first := ok(t, http.MethodPost, url+"/v1/responses", `{"model":"m","input":"hello"}`)
	if err := fleet.Down("alpha"); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, http.MethodPost, url+"/v1/chat/completions", hello); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("while it is down: %v", err)
	}
	if err := errors.Join(fleet.Down("alpha"), fleet.Up("alpha"), fleet.Up("alpha")); err != nil {
		t.Fatal(err)
	}
	if fleet.URL("alpha") != url {
		t.Errorf("it came back at %s, was at %s", fleet.URL("alpha"), url)
	}
	ok(t, http.MethodGet, url+"/v1/responses/"+first.text("id"), "")
	if fleet.Down("bravo") == nil || fleet.Up("bravo") == nil {
		t.Error("an unknown account was switched")
	}
}

// Ids of two runs never meet, ciphertext does.
func TestRestart(t *testing.T) {
	const body = `{"model":"m","input":"hello","reasoning":{},"include":["reasoning.encrypted_content"]}`
	_, one := start(t, accounts.Config{})
	_, two := start(t, accounts.Config{})
	first, second := ok(t, http.MethodPost, one+"/v1/responses", body), ok(t, http.MethodPost, two+"/v1/responses", body)
	if first.text("id") == second.text("id") {
		t.Errorf("both made %s", first.text("id"))
	}
	if sealed := first.text("output", 0, "encrypted_content"); sealed == "" || sealed != second.text("output", 0, "encrypted_content") {
		t.Errorf("sealed as %q", sealed)
	}
}

// The same request is answered alike by every account.
func TestAnswersDoNotDependOnTheAccount(t *testing.T) {
	fleet := accounts.StartT(t, "alpha", "bravo")
	a := ok(t, http.MethodPost, fleet.URL("alpha")+"/v1/chat/completions", hello)
	b := ok(t, http.MethodPost, fleet.URL("bravo")+"/v1/chat/completions", hello)
	if a.text("choices", 0, "message", "content") != b.text("choices", 0, "message", "content") || a.text("system_fingerprint") == b.text("system_fingerprint") {
		t.Errorf("%v\n%v", a, b)
	}
}

// Closing an account ends what waits, without an answer.
func TestCloseEndsWaitingCalls(t *testing.T) {
	for _, fault := range []accounts.Fault{{Kind: accounts.Hang}, {Kind: accounts.SlowFirstByte, Delay: time.Hour}} {
		kind := fault.Kind
		waiting := make(chan struct{}, 1)
		a := accounts.New(accounts.Config{Wait: func(ctx context.Context, _ time.Duration) error {
			waiting <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}})
		accounts.InjectT(t, a, fault)
		w, ended := httptest.NewRecorder(), make(chan any)
		go func() {
			defer func() { ended <- recover() }()
			a.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(hello)))
		}()
		await(t, a, func(calls []accounts.Call) bool { return len(calls) == 1 && calls[0].Fault == kind })
		if kind == accounts.SlowFirstByte {
			<-waiting
		}
		a.Close()
		if end := <-ended; end != http.ErrAbortHandler || w.Body.Len() != 0 {
			t.Errorf("%s ended with %v and %q", kind, end, w.Body)
		}
		if c := a.Calls()[0]; c.Open || c.Finished || c.Cancelled {
			t.Errorf("%s: %+v", kind, c)
		}
	}
}

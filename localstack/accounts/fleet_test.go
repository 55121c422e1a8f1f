package accounts_test

import (
	"errors"
	"net/http"
	"syscall"
	"testing"

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

package seal_test

import (
	"strings"
	"testing"

	"holdfast/localstack/accounts/internal/seal"
)

func TestOnlyTheMakerOpens(t *testing.T) {
	alpha, bravo := seal.New("alpha", false), seal.New("bravo", false)
	sealed := alpha.Seal("reasoning", "secret thought")
	if strings.Contains(sealed, "secret") {
		t.Errorf("the text is readable: %s", sealed)
	}
	if again := seal.New("alpha", false).Seal("reasoning", "secret thought"); again != sealed {
		t.Errorf("a restarted account seals %s, was %s", again, sealed)
	}
	if text, ok := seal.New("alpha", false).Open("reasoning", sealed); !ok || text != "secret thought" {
		t.Errorf("a restarted account reads %q, %v", text, ok)
	}
	for name, open := range map[string]func() (string, bool){
		"another account": func() (string, bool) { return bravo.Open("reasoning", sealed) },
		"another purpose": func() (string, bool) { return alpha.Open("signature", sealed) },
		"changed":         func() (string, bool) { return alpha.Open("reasoning", "A"+sealed[1:]) },
		"cut":             func() (string, bool) { return alpha.Open("reasoning", sealed[:8]) },
		"nothing":         func() (string, bool) { return alpha.Open("reasoning", "") },
		"no base64":       func() (string, bool) { return alpha.Open("reasoning", "%%%") },
	} {
		if text, ok := open(); ok {
			t.Errorf("%s opened it: %q", name, text)
		}
	}
}

func TestAccepts(t *testing.T) {
	alpha := seal.New("alpha", false)
	sealed := alpha.Seal("signature", "thought")
	for _, tc := range []struct {
		box   *seal.Box
		shown string
		want  bool
	}{
		{alpha, "thought", true},
		{alpha, "", true},
		{alpha, "changed", false},
		{seal.New("bravo", false), "thought", false},
		{seal.New("bravo", true), "thought", true},
	} {
		if got := tc.box.Accepts("signature", sealed, tc.shown); got != tc.want {
			t.Errorf("shown %q: %v, want %v", tc.shown, got, tc.want)
		}
	}
}

package auth

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/affinity/identity"
	"holdfast/routing/catalog"
)

const document = `connections: [{id: one, provider: openai, auth: {key: "env:K"}}]
deployments: [{id: d, model: m, connection: one, protocol: chat}]
keys:
  - {id: good, key: sk-good}
  - {id: off, key: sk-off, enabled: false}
  - {id: old, key: sk-old, expires: "2026-01-01T00:00:00Z"}
`

func TestAuthenticate(t *testing.T) {
	doc, problems := catalog.Load([]byte(document))
	if catalog.HasErrors(problems) {
		t.Fatal(problems)
	}
	known, problems := catalog.Compile(doc, "", func(string) (string, error) { return "", errors.New("no secret") })
	if catalog.HasErrors(problems) {
		t.Fatal(problems)
	}
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	rows := []struct {
		name         string
		header, text string
		want         error
	}{
		{"bearer", "Authorization", "Bearer sk-good", nil},
		{"bearer, any case and spaces", "Authorization", "bearer   sk-good ", nil},
		{"x-api-key", "X-Api-Key", "sk-good", nil},
		{"api-key", "Api-Key", "sk-good", nil},
		{"none", "Accept", "x", ErrMissing},
		{"empty bearer", "Authorization", "Bearer ", ErrMissing},
		{"basic", "Authorization", "Basic sk-good", ErrMissing},
		{"unknown", "X-Api-Key", "sk-goo", ErrUnknown},
		{"longer", "X-Api-Key", "sk-good0", ErrUnknown},
		{"absurd", "X-Api-Key", strings.Repeat("k", maxCredential+1), ErrUnknown},
		{"disabled", "X-Api-Key", "sk-off", ErrDisabled},
		{"expired", "X-Api-Key", "sk-old", ErrExpired},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			p, err := Authenticate(known, http.Header{row.header: {row.text}}, now)
			if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
				t.Fatalf("error %v, want %v", err, row.want)
			}
			if err == nil && (p.Caller.ID != "good" || p.Scope != identity.KeyScope("good")) {
				t.Errorf("principal %+v", p)
			}
			if err != nil && (p.Caller != nil || !p.Scope.IsZero()) {
				t.Errorf("a refused caller has a scope: %+v", p)
			}
		})
	}
	both := http.Header{"Authorization": {"Bearer sk-good"}, "X-Api-Key": {"sk-off"}}
	if p, err := Authenticate(known, both, now); err != nil || p.Caller.ID != "good" {
		t.Errorf("two credentials: %+v, %v; want the bearer's", p.Caller, err)
	}
	if _, err := Authenticate(known, http.Header{"Authorization": {"Bearer sk-old"}}, now.AddDate(-1, 0, 0)); err != nil {
		t.Errorf("before its expiry: %v", err)
	}
}

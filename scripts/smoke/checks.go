package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// check is one thing that a deployment does. It returns what it saw.
type check struct {
	name string
	run  func(context.Context, *probe) (string, error)
}

// checks are made in this order; the second finds the model that the others
// ask, unless the command line names one.
func checks() []check {
	return []check{
		{"alive", alive}, {"models", models}, {"refusals", refusals}, {"identity", identity}, {"stickiness", stickiness},
		{"streaming", streaming}, {"cors", cors}, {"limits", limits},
	}
}

func alive(ctx context.Context, p *probe) (string, error) {
	answer, err := p.send(ctx, http.MethodGet, "/healthz", nil, map[string]string{"Authorization": ""})
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d without a key", answer.StatusCode)
	}
	return "answers without a key", nil
}

func models(ctx context.Context, p *probe) (string, error) {
	answer, err := p.send(ctx, http.MethodGet, "/v1/models", nil, nil)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var list struct{ Data []struct{ ID string } }
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil || answer.StatusCode != http.StatusOK || json.Unmarshal(text, &list) != nil {
		return "", fmt.Errorf("status %d: %s", answer.StatusCode, short(text))
	}
	if p.model == "" && len(list.Data) > 0 {
		p.model = list.Data[0].ID
	}
	if p.model == "" {
		return "", errors.New("the key may use no model")
	}
	return fmt.Sprintf("%d, asking %s by %s", len(list.Data), p.model, p.endpoint), nil
}

// refusal is a request that must not be served.
type refusal struct {
	what   string
	q      question
	path   string // "": the endpoint's
	status int
	code   string
}

func refused() []refusal {
	hello := []string{"Hello"}
	return []refusal{
		{"no key", question{turns: hello, header: map[string]string{"Authorization": ""}}, "", 401, "invalid_api_key"},
		{"an unknown key", question{turns: hello, header: map[string]string{"Authorization": "Bearer sk-hf-unknown"}}, "", 401, "invalid_api_key"},
		{"an address in the body", question{turns: hello, extra: `"api_base":"https://example.com"`}, "", 400, "invalid_request"},
		{"a model named twice", question{turns: hello, extra: `"model":"another"`}, "", 400, "invalid_json"},
		{"an unusable session", question{turns: hello, extra: `"session_id":""`}, "", 400, "invalid_session_id"},
		{"two sessions", question{turns: hello, extra: `"session_id":"a"`, header: map[string]string{"X-Session-Id": "b"}}, "", 400, "session_conflict"},
		{"an unknown route", question{turns: hello}, "/v1/nothing", 404, "route_not_found"},
	}
}

// refusals also proves that each says in a header and in JSON what is wrong.
func refusals(ctx context.Context, p *probe) (string, error) {
	for _, r := range refused() {
		path := r.path
		if path == "" {
			path = paths()[p.endpoint]
		}
		answer, err := p.send(ctx, http.MethodPost, path, p.body(r.q), r.q.header)
		if err != nil {
			return "", fmt.Errorf("%s: %w", r.what, err)
		}
		text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
		answer.Body.Close()
		code := answer.Header.Get("X-Holdfast-Error")
		if err != nil || answer.StatusCode != r.status || code != r.code || !json.Valid(text) {
			return "", fmt.Errorf("%s: status %d %s, want %d %s: %s", r.what, answer.StatusCode, code, r.status, r.code, short(text))
		}
	}
	return fmt.Sprintf("%d kinds", len(refused())), nil
}

// identity: a conversation without an id is known again by its opening, and one
// that names itself by that.
func identity(ctx context.Context, p *probe) (string, error) {
	opening := fresh()
	first, err := p.answered(ctx, question{turns: []string{opening}})
	if err != nil {
		return "", err
	}
	second, err := p.answered(ctx, question{turns: []string{opening, "ok", "Once more."}})
	if err != nil {
		return "", err
	}
	id := first.Get("X-Session-Id")
	if id == "" || second.Get("X-Session-Id") != id || second.Get("X-Holdfast-Session-Source") != "prompt" {
		return "", fmt.Errorf("turns of one conversation are %q and %q by %s, want one session by its opening", id, second.Get("X-Session-Id"), second.Get("X-Holdfast-Session-Source"))
	}
	own := "smoke-" + rand.Text()
	named, err := p.answered(ctx, question{turns: []string{opening}, header: map[string]string{"X-Session-Id": own}})
	if err != nil {
		return "", err
	}
	if named.Get("X-Session-Id") != own || named.Get("X-Holdfast-Session-Source") != "explicit" {
		return "", fmt.Errorf("a named session came back as %q by %s", named.Get("X-Session-Id"), named.Get("X-Holdfast-Session-Source"))
	}
	return "by opening and by name", nil
}

// racing is how many turns are asked at once, to reach several processes.
const racing = 4

// stickiness: after a session's first turn every other one, whichever process
// it reaches, is served by the same deployment.
func stickiness(ctx context.Context, p *probe) (string, error) {
	opening, session := fresh(), map[string]string{"X-Session-Id": "smoke-" + rand.Text()}
	first, err := p.answered(ctx, question{turns: []string{opening}, header: session})
	if err != nil {
		return "", err
	}
	home := first.Get("X-Holdfast-Deployment")
	if word := first.Get("X-Holdfast-Affinity"); word != "claimed" || home == "" {
		return "", fmt.Errorf("the first turn was %q by %q, want claimed", word, home)
	}
	errs, all := make([]error, racing), sync.WaitGroup{}
	for i := range errs {
		all.Go(func() {
			errs[i] = stays(ctx, p, question{turns: []string{opening, "ok", "Once more."}, header: session}, home)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d turns by %s", racing+1, home), nil
}

func stays(ctx context.Context, p *probe, q question, home string) error {
	header, err := p.answered(ctx, q)
	if err != nil {
		return err
	}
	if word, served := header.Get("X-Holdfast-Affinity"), header.Get("X-Holdfast-Deployment"); word != "hit" || served != home {
		return fmt.Errorf("a later turn was %q by %q, want a hit by %s", word, served, home)
	}
	return nil
}

// oversized are bodies that are too large: for a function URL, and for a gateway
// that serves by itself.
func oversized() []int { return []int{7 << 20, 21 << 20} }

// limits asks for a model that nobody has: a body that is let in, since the
// place takes larger ones, is refused all the same before a provider is paid.
func limits(ctx context.Context, p *probe) (string, error) {
	nobody := *p
	nobody.model = "smoke-" + rand.Text()
	for _, size := range oversized() {
		answer, err := nobody.ask(ctx, question{turns: []string{strings.Repeat("large ", size/6)}})
		if err != nil {
			return "", err
		}
		answer.Body.Close()
		switch answer.StatusCode {
		case http.StatusRequestEntityTooLarge:
			return fmt.Sprintf("%d MiB are refused", size>>20), nil
		case http.StatusNotFound: // of the model: the body was read
		default:
			return "", fmt.Errorf("a body of %d MiB: status %d, want 413", size>>20, answer.StatusCode)
		}
	}
	return "", fmt.Errorf("a body of %d MiB was read", slices.Max(oversized())>>20)
}

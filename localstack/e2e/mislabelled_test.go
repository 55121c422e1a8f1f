package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// labels are content types that providers give their answers beside the right one;
// "" is none at all.
func labels() []string {
	return []string{"application/json", "application/json; charset=utf-8", eventStream, eventStream + "; charset=utf-8",
		"text/plain", "text/html", "application/octet-stream", "application/problem+json", "no/such/type", ""}
}

// TestMislabelled: an answer is what it is, whatever its provider calls it. The client
// gets all of it in the form that it has asked for and under that form's name, at the
// first attempt, be it sent in that form or in the other.
func TestMislabelled(t *testing.T) {
	t.Parallel()
	straight := newScene(t, world{accounts: []accounts.Config{{Name: "alpha"}}})
	behind := accounts.StartT(t, "behind")
	front, _ := contrary(t, behind.URL("behind"))
	turned := newScene(t, world{accounts: []accounts.Config{{Name: "alpha"}}, base: map[string]string{"alpha": front}})
	for _, label := range labels() {
		fault := accounts.Fault{Kind: accounts.Mislabelled, ContentType: label}
		own, other := accounts.InjectT(t, straight.fleet.Account("alpha"), fault), accounts.InjectT(t, behind.Account("behind"), fault)
		for _, s := range []*scene{straight, turned} {
			for _, client := range protocols() {
				for _, target := range protocols() {
					for _, stream := range []bool{false, true} {
						row := fmt.Sprintf("%s, stream %v, other form %v, as %q", pair{client, target}, stream, s == turned, label)
						mislabelled(t, row, client, stream, s.over(pair{client, target}, row, stream))
					}
				}
			}
		}
		straight.fleet.Account("alpha").Remove(own)
		behind.Account("behind").Remove(other)
	}
}

// mislabelled checks an answer to Hello.
func mislabelled(t *testing.T, row, client string, stream bool, a answer) {
	t.Helper()
	want := map[bool]string{true: eventStream, false: "application/json"}[stream]
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	if a.StatusCode != 200 || kind != want || a.err != nil || stream && !whole(client, a) || a.Header.Get("X-Holdfast-Attempts") != "1" {
		t.Errorf("%s: %d %q %v after %s attempts\n%.300s", row, a.StatusCode, a.Header.Get("Content-Type"), a.err, a.Header.Get("X-Holdfast-Attempts"), a.body)
		return
	}
	if text := said(client, stream, a.body); !strings.HasPrefix(text, `On "Hello"`) || !strings.Contains(text, "harbour") {
		t.Errorf("%s: the client reads %q", row, text)
	}
}

// TestMislabelledInTime: events that are called JSON still reach the client one by one,
// before the last is there.
func TestMislabelledInTime(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{accounts: []accounts.Config{{Name: "alpha", Token: 100 * time.Millisecond}}})
	account := s.fleet.Account("alpha")
	accounts.InjectT(t, account, accounts.Fault{Kind: accounts.Mislabelled, ContentType: "application/json"})
	for _, endpoint := range protocols() {
		response, err := http.DefaultClient.Do(newRequest(t, t.Context(), s.URL+route(endpoint), ask(endpoint, true, user("Hello"))))
		if err != nil {
			t.Fatal(err)
		}
		seen, lines := "", bufio.NewReader(response.Body)
		for !strings.Contains(seen, "On ") { // the answer's first word
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: %v after %s", endpoint, err, seen)
			}
			seen += line
		}
		if !last(t, account).Open {
			t.Errorf("%s: the first word came when the upstream had finished", endpoint)
		}
		rest, err := io.ReadAll(lines)
		response.Body.Close()
		if a := (answer{response, seen + string(rest), err}); !whole(endpoint, a) {
			t.Errorf("%s: %v\n%s", endpoint, err, a.body)
		}
	}
}

// TestMislabelledBypass: past the unified routes both the bytes and what they are
// called stay the provider's, in whatever form they come, and are booked.
func TestMislabelledBypass(t *testing.T) {
	t.Parallel()
	straight := newScene(t, world{accounts: []accounts.Config{{Name: "alpha"}}})
	behind := accounts.StartT(t, "behind")
	front, _ := contrary(t, behind.URL("behind"))
	turned := newScene(t, world{accounts: []accounts.Config{{Name: "alpha"}}, base: map[string]string{"alpha": front}})
	for _, label := range []string{"application/json", eventStream, "text/plain", ""} {
		fault := accounts.Fault{Kind: accounts.Mislabelled, ContentType: label}
		own, other := accounts.InjectT(t, straight.fleet.Account("alpha"), fault), accounts.InjectT(t, behind.Account("behind"), fault)
		for _, s := range []*scene{straight, turned} {
			for _, endpoint := range protocols() {
				for _, stream := range []bool{false, true} {
					row := fmt.Sprintf("%s, stream %v, other form %v, as %q", endpoint, stream, s == turned, label)
					a := post(t, s.URL+"/bypass/alpha"+route(endpoint), ask(endpoint, stream, user("Hello")))
					events := stream != (s == turned)
					if a.StatusCode != 200 || a.err != nil || a.Header.Get("X-Holdfast-Attempts") != "1" || events != whole(endpoint, a) || !strings.Contains(said(endpoint, events, a.body), "harbour") {
						t.Errorf("%s: %d %v %s", row, a.StatusCode, a.err, a.body)
					}
					if got := a.Header.Get("Content-Type"); label != "" && got != label {
						t.Errorf("%s: it is called %q", row, got)
					}
				}
			}
		}
		straight.fleet.Account("alpha").Remove(own)
		behind.Account("behind").Remove(other)
	}
}

// TestMislabelledResumed: a response in the background that is followed once more is
// a stream, whatever its provider calls that.
func TestMislabelledResumed(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{accounts: []accounts.Config{{Name: "alpha"}}})
	account := s.fleet.Account("alpha")
	first := post(t, s.URL+"/v1/responses", turn{"model": "responses", "input": "Hello", "background": true, "stream": true})
	at := s.URL + "/v1/responses/" + responseID(t, first) + "?stream=true"
	want := send(t, http.MethodGet, at, keyA)
	if want.StatusCode != 200 || !whole("responses", want) {
		t.Fatalf("%d %v %s", want.StatusCode, want.err, want.body)
	}
	for _, label := range labels() {
		fault := accounts.InjectT(t, account, accounts.Fault{Kind: accounts.Mislabelled, ContentType: label})
		a := send(t, http.MethodGet, at, keyA)
		if kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";"); a.StatusCode != 200 || kind != eventStream || a.err != nil || a.body != want.body {
			t.Errorf("as %q: %d %q %v %.300s", label, a.StatusCode, a.Header.Get("Content-Type"), a.err, a.body)
		}
		if struck := account.Faults(); len(struck) != 1 || struck[0].Struck != 1 {
			t.Errorf("as %q: %+v", label, struck)
		}
		account.Remove(fault)
	}
}

package accounts_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// A hang ends with its client, which the journal calls cancelled.
func TestHangEndsWithTheClient(t *testing.T) {
	for _, target := range targets(true) {
		a, url := start(t, accounts.Config{})
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.Hang})
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+target.path, strings.NewReader(target.body))
		if err != nil {
			t.Fatal(err)
		}
		gave := make(chan error, 1)
		go func() {
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				resp.Body.Close()
			}
			gave <- err
		}()
		await(t, a, func(calls []accounts.Call) bool {
			return len(calls) == 1 && calls[0].Fault == accounts.Hang && calls[0].Open
		})
		cancel()
		if err := <-gave; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the client got %v", target.protocol, err)
		}
		await(t, a, func(calls []accounts.Call) bool { return calls[0].Cancelled && !calls[0].Open && calls[0].Status == 0 })
	}
}

// A hang ends with the fleet, without a byte.
func TestHangEndsWithTheFleet(t *testing.T) {
	fleet, err := accounts.Start("alpha")
	if err != nil {
		t.Fatal(err)
	}
	a := fleet.Account("alpha")
	accounts.InjectT(t, a, accounts.Fault{Kind: accounts.Hang})
	gave := make(chan error, 1)
	target := targets(false)[0]
	go func() {
		_, err := call(t, http.MethodPost, fleet.URL("alpha")+target.path, target.body)
		gave <- err
	}()
	await(t, a, func(calls []accounts.Call) bool { return len(calls) == 1 && calls[0].Fault == accounts.Hang })
	if err := fleet.Close(); err != nil {
		t.Error(err)
	}
	if err := <-gave; !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client got %v", err)
	}
}

// await fails a test whose condition does not come true.
func await(t *testing.T, a *accounts.Account, condition func([]accounts.Call) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := a.Await(ctx, condition); err != nil {
		t.Fatalf("%v: %+v", err, a.Calls())
	}
}

// A client that leaves in the middle of a stream is noticed while the account
// waits for the next token.
func TestCancelledStream(t *testing.T) {
	for _, target := range targets(true) {
		var tokens atomic.Int32
		waiting := make(chan time.Duration)
		a, url := start(t, accounts.Config{Token: time.Hour, Wait: func(ctx context.Context, d time.Duration) error {
			if tokens.Add(1) < 4 {
				return nil
			}
			waiting <- d
			<-ctx.Done()
			return ctx.Err()
		}})
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+target.path, strings.NewReader(target.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Anthropic-Version", "2023-06-01")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if d := <-waiting; d != time.Hour {
			t.Errorf("waited %v for a token", d)
		}
		cancel()
		resp.Body.Close()
		await(t, a, func(calls []accounts.Call) bool { return !calls[0].Open })
		if c := a.Calls()[0]; !c.Cancelled || c.Finished || c.Status != 200 || c.Events < 4 || c.Events > 8 {
			t.Errorf("%s: %+v", target.protocol, c)
		}
	}
}

// Delays pass where they are configured or injected.
func TestDelays(t *testing.T) {
	for _, tc := range []struct {
		name   string
		config accounts.Config
		fault  accounts.Fault
		stream bool
		want   []time.Duration
	}{
		{"first byte", accounts.Config{FirstByte: time.Second}, accounts.Fault{}, false, []time.Duration{time.Second}},
		{"slow first byte", accounts.Config{FirstByte: time.Second}, accounts.Fault{Kind: accounts.SlowFirstByte, Delay: time.Minute}, true, []time.Duration{time.Second, time.Minute}},
		{"tokens", accounts.Config{Token: time.Second, AnswerTokens: 3}, accounts.Fault{}, true, []time.Duration{time.Second, time.Second, time.Second}},
		{"slow tokens", accounts.Config{Token: time.Second, AnswerTokens: 2}, accounts.Fault{Kind: accounts.SlowTokens, Delay: time.Minute}, true, []time.Duration{61 * time.Second, 61 * time.Second}},
		{"slow JSON", accounts.Config{}, accounts.Fault{Kind: accounts.SlowTokens, Delay: time.Minute}, false, []time.Duration{time.Minute}},
		{"a late error", accounts.Config{}, accounts.Fault{Kind: accounts.ServerError, Delay: time.Minute}, false, []time.Duration{time.Minute}},
	} {
		for _, target := range targets(tc.stream) {
			var got []time.Duration
			tc.config.Wait = func(_ context.Context, d time.Duration) error { got = append(got, d); return nil }
			a, url := start(t, tc.config)
			if tc.fault.Kind != "" {
				accounts.InjectT(t, a, tc.fault)
			}
			must(t, http.MethodPost, url+target.path, target.body)
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("%s, %s: waited %v, want %v", tc.name, target.protocol, got, tc.want)
			}
			if c := a.Calls()[0]; !c.Finished {
				t.Errorf("%s, %s: %+v", tc.name, target.protocol, c)
			}
		}
	}
}

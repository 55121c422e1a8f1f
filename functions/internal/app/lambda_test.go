package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"holdfast/functions/internal/httpapi"
)

// TestFirstRequests shows that requests which come at once compose the gateway
// once, that a failure is answered and tried again with the next request, and
// that a gateway, once there, stays.
func TestFirstRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var composed atomic.Int64
		fails, pass := errors.New("not yet"), make(chan struct{})
		l := &lazy{unready: httpapi.Unready([]string{"*"}), log: slog.New(slog.DiscardHandler)}
		l.compose = func(context.Context) (*Gateway, error) {
			composed.Add(1)
			<-pass
			if fails != nil {
				return nil, fails
			}
			return &Gateway{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") })}, nil
		}
		ask := func(want int) {
			t.Helper()
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					w := httptest.NewRecorder()
					l.ServeHTTP(w, httptest.NewRequest("POST", "/v1/messages", http.NoBody))
					if w.Code != want {
						t.Errorf("%d, want %d: %s", w.Code, want, w.Body)
					}
					if want == 503 && (w.Header().Get("X-Holdfast-Error") != "configuration_unavailable" || w.Header().Get("Retry-After") == "") {
						t.Errorf("refused with %v", w.Header())
					}
				})
			}
			synctest.Wait() // all of them wait for the one composition
			close(pass)
			all.Wait()
			pass = make(chan struct{})
		}
		ask(503)
		fails = nil
		ask(200)
		ask(200)
		if n := composed.Load(); n != 2 {
			t.Errorf("composed %d times, want once for each of two rounds", n)
		}
	})
}

// TestFirstRequestLeaves shows that a client which leaves does not take the
// composition with it.
func TestFirstRequestLeaves(t *testing.T) {
	l := &lazy{unready: http.NotFoundHandler(), log: slog.New(slog.DiscardHandler)}
	l.compose = func(ctx context.Context) (*Gateway, error) {
		if _, bounded := ctx.Deadline(); !bounded || ctx.Err() != nil {
			t.Errorf("bounded %v, ended with %v", bounded, ctx.Err())
		}
		return &Gateway{Handler: http.NotFoundHandler()}, nil
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if l.load(ctx) == nil {
		t.Error("nothing was composed")
	}
}

// TestLambdaRefuses shows the environments that cannot be right.
func TestLambdaRefuses(t *testing.T) {
	for _, variable := range []string{"HOLDFAST_STORE=memory", "HOLDFAST_STORE=bolt", "HOLDFAST_LOG_LEVEL=loud"} {
		if _, _, err := Lambda([]string{variable}, io.Discard); err == nil {
			t.Errorf("%s is taken", variable)
		}
	}
	if _, _, err := Lambda([]string{"HOLDFAST_STORE=dynamodb"}, io.Discard); err != nil {
		t.Error(err)
	}
}

// TestChoose shows which document rules where none is stored.
func TestChoose(t *testing.T) {
	urls := map[string]string{"alpha": "http://127.0.0.1:1/v1"}
	for _, row := range []struct {
		name                            string
		options                         Options
		document, fromFile, key, refuse bool
	}{
		{"nothing", Options{}, false, false, false, false},
		{"the demo", Options{Demo: urls}, true, false, false, false},
		{"provider keys", Options{Environ: []string{"OPENAI_API_KEY=x"}}, true, false, true, false},
		{"a file that is not there", Options{Environment: Environment{Config: filepath.Join(t.TempDir(), "none")}, Demo: urls}, false, false, false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := row.options.choose()
			got := []bool{row.options.Document != nil, row.options.FromFile, row.options.CallerKey, err != nil}
			if diff := cmp.Diff([]bool{row.document, row.fromFile, row.key, row.refuse}, got); diff != "" {
				t.Errorf("document, from a file, caller key, refused: %s", diff)
			}
		})
	}
}

// TestAddresses shows that the list of simulated accounts survives its way
// through the environment.
func TestAddresses(t *testing.T) {
	want := map[string]string{"alpha": "http://127.0.0.1:1/v1", "bravo": "http://127.0.0.1:2/v1?a=b"}
	got, err := parseAddresses(FormatAddresses(want))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if none, err := parseAddresses(""); len(none) > 0 || err != nil {
		t.Error(none, err)
	}
	if _, err := parseAddresses("alpha"); err == nil {
		t.Error("an account without an address is taken")
	}
}

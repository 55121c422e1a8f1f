package vault_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"holdfast/functions/internal/app/vault"
	"holdfast/routing/catalog"
)

// cloud stands for both services.
type cloud struct {
	mu     sync.Mutex
	values map[string]string // by parameter or secret
	fail   []func(http.ResponseWriter)
	calls  []call
	open   chan struct{} // nil, or closed when answers may go
}

type call struct{ target, name, authorization, kind string }

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name, SecretId string
		WithDecryption bool
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	c.mu.Lock()
	c.calls = append(c.calls, call{r.Header.Get("X-Amz-Target"), body.Name + body.SecretId, r.Header.Get("Authorization"), r.Header.Get("Content-Type")})
	value, there := c.values[body.Name+body.SecretId]
	var fail func(http.ResponseWriter)
	if len(c.fail) > 0 {
		fail, c.fail = c.fail[0], c.fail[1:]
	}
	open := c.open
	c.mu.Unlock()
	if open != nil {
		<-open
	}
	switch {
	case fail != nil:
		fail(w)
	case !there && body.Name != "":
		refuse(400, "ParameterNotFound")(w)
	case !there:
		refuse(400, "com.amazonaws.secretsmanager#ResourceNotFoundException")(w)
	case body.Name != "" && body.WithDecryption:
		_ = json.NewEncoder(w).Encode(map[string]any{"Parameter": map[string]any{"Value": value}})
	case body.SecretId != "":
		_ = json.NewEncoder(w).Encode(map[string]any{"SecretString": value})
	}
}

func refuse(status int, kind string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": kind})
	}
}

func (c *cloud) seen() []call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]call(nil), c.calls...)
}

func (c *cloud) set(name, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values[name] = value
}

// bench is a vault before a cloud, with a clock.
type bench struct {
	*cloud
	*vault.Vault
	mu  sync.Mutex
	now time.Time
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{cloud: &cloud{values: map[string]string{}}, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	server := httptest.NewServer(b.cloud)
	t.Cleanup(server.Close)
	environment := map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL": server.URL,
	}
	b.Vault = vault.New(vault.Config{
		Lookup: func(name string) (string, bool) { value, set := environment[name]; return value, set },
		Now: func() time.Time {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.now
		},
	})
	return b
}

func ref(t *testing.T, text string) catalog.Reference {
	t.Helper()
	r, err := catalog.ParseReference(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (b *bench) is(t *testing.T, text, want string) {
	t.Helper()
	if got, err := b.Resolve(ref(t, text)); err != nil || got != want {
		t.Errorf("%s is %q, %v, want %q", text, got, err, want)
	}
}

const arn = "arn:aws:secretsmanager:us-west-2:123456789012:secret:holdfast/anthropic-AbCdEf"

// TestBothPlaces: parameters are decrypted, secrets are read in the region of
// their ARN, and several values in one are told apart.
func TestBothPlaces(t *testing.T) {
	b := newBench(t)
	b.set("/holdfast/openai", "sk-one, sk-two")
	b.set(arn, "sk-ant")
	b.is(t, "ssm:/holdfast/openai[1]", "sk-two")
	b.is(t, "ssm:/holdfast/openai[0]", "sk-one")
	b.is(t, "secretsmanager:"+arn, "sk-ant")
	calls := b.seen()
	if len(calls) != 2 {
		t.Fatalf("%d calls, want one a secret: %v", len(calls), calls)
	}
	for i, want := range []struct{ target, scope string }{
		{"AmazonSSM.GetParameter", "/eu-central-1/ssm/aws4_request"},
		{"secretsmanager.GetSecretValue", "/us-west-2/secretsmanager/aws4_request"},
	} {
		c := calls[i]
		if c.target != want.target || !strings.Contains(c.authorization, "Credential=AKIDEXAMPLE/20261130"+want.scope) || c.kind != "application/x-amz-json-1.1" {
			t.Errorf("call %+v, want %+v", c, want)
		}
	}
}

// TestKept: a value serves for five minutes, is asked for again then, and
// stays in use while that does not work.
func TestKept(t *testing.T) {
	b := newBench(t)
	b.set("/k", "old")
	b.is(t, "ssm:/k", "old")
	b.set("/k", "new")
	b.pass(4 * time.Minute)
	b.is(t, "ssm:/k", "old")
	b.pass(2 * time.Minute)
	b.fail = []func(http.ResponseWriter){refuse(500, "InternalServerError"), refuse(500, "InternalServerError")}
	b.is(t, "ssm:/k", "old")
	b.is(t, "ssm:/k", "new")
	if n := len(b.seen()); n != 4 {
		t.Errorf("%d calls, want 1, then 2 that fail, then 1", n)
	}
}

// TestForget: after a provider's refusal the next use asks again, yet not over
// and over for a value that was only just read.
func TestForget(t *testing.T) {
	b := newBench(t)
	b.set("/k", "old")
	b.is(t, "ssm:/k", "old")
	b.set("/k", "new")
	b.Forget(ref(t, "ssm:/k"))
	b.is(t, "ssm:/k", "old")
	b.pass(11 * time.Second)
	b.Forget(ref(t, "ssm:/k"))
	b.is(t, "ssm:/k", "new")
	b.Forget(ref(t, "ssm:/never-read"))
}

func TestFailures(t *testing.T) {
	rows := map[string]struct {
		fail  []func(http.ResponseWriter)
		text  string
		want  error
		calls int
	}{
		"an unknown parameter":       {nil, "ssm:/k", vault.ErrNotFound, 1},
		"an unknown secret":          {nil, "secretsmanager:k", vault.ErrNotFound, 1},
		"no permission":              {[]func(http.ResponseWriter){refuse(400, "AccessDeniedException")}, "ssm:/k", vault.ErrForbidden, 1},
		"throttled twice":            {[]func(http.ResponseWriter){refuse(400, "ThrottlingException"), refuse(400, "ThrottlingException")}, "ssm:/k", vault.ErrUnavailable, 2},
		"out of order twice":         {[]func(http.ResponseWriter){refuse(503, ""), refuse(500, "")}, "ssm:/k", vault.ErrUnavailable, 2},
		"a page of HTML":             {[]func(http.ResponseWriter){page, page}, "ssm:/k", vault.ErrUnavailable, 2},
		"an answer without a secret": {[]func(http.ResponseWriter){func(w http.ResponseWriter) { _, _ = w.Write([]byte("{}")) }}, "ssm:/k", vault.ErrNotFound, 1},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.fail = row.fail
			_, err := b.Resolve(ref(t, row.text))
			if !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.text) {
				t.Errorf("%v, want %v with the reference", err, row.want)
			}
			if n := len(b.seen()); n != row.calls {
				t.Errorf("%d calls, want %d", n, row.calls)
			}
		})
	}
	t.Run("throttled once", func(t *testing.T) {
		b := newBench(t)
		b.set("/k", "v")
		b.fail = []func(http.ResponseWriter){refuse(400, "ThrottlingException")}
		b.is(t, "ssm:/k", "v")
	})
}

func page(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) }

// TestOneCall: however many wait for a secret, it is asked for once.
func TestOneCall(t *testing.T) {
	b := newBench(t)
	b.set("/k", "v")
	b.open = make(chan struct{})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() { b.is(t, "ssm:/k", "v") })
	}
	close(b.open)
	all.Wait()
	if n := len(b.seen()); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestCredentials: where the environment holds no access key, whoever knows
// profiles is asked, once; and without either nothing is sent.
func TestCredentials(t *testing.T) {
	c := &cloud{values: map[string]string{"/a": "1", "/b": "2"}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	lookup := func(name string) (string, bool) { return server.URL, name == "AWS_ENDPOINT_URL_SSM" }
	asked := 0
	v := vault.New(vault.Config{Lookup: lookup, Credentials: func(context.Context) (string, aws.CredentialsProvider, error) {
		asked++
		return "eu-north-1", credentials.NewStaticCredentialsProvider("PROFILE", "secret", ""), nil
	}})
	for _, text := range []string{"ssm:/a", "ssm:/b"} {
		if _, err := v.Resolve(ref(t, text)); err != nil {
			t.Error(err)
		}
	}
	if calls := c.seen(); asked != 1 || len(calls) != 2 || !strings.Contains(calls[0].authorization, "Credential=PROFILE/") || !strings.Contains(calls[0].authorization, "/eu-north-1/ssm/") {
		t.Errorf("asked %d times: %+v", asked, calls)
	}
	if _, err := vault.New(vault.Config{Lookup: lookup}).Resolve(ref(t, "ssm:/a")); !errors.Is(err, vault.ErrForbidden) || len(c.seen()) != 2 {
		t.Errorf("without credentials: %v", err)
	}
}

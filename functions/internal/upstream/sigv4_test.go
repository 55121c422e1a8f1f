package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"holdfast/localstack/accounts/sigv4"
)

func TestPlaceOfHost(t *testing.T) {
	rows := map[string][2]string{
		"bedrock-runtime.eu-west-1.amazonaws.com":                {"bedrock", "eu-west-1"},
		"bedrock-runtime-fips.us-gov-west-1.amazonaws.com":       {"bedrock", "us-gov-west-1"},
		"bedrock-runtime.cn-north-1.amazonaws.com.cn":            {"bedrock", "cn-north-1"},
		"bedrock-mantle.us-east-2.api.aws":                       {"bedrock-mantle", "us-east-2"},
		"vpce-0a1b.bedrock-runtime.eu-west-1.vpce.amazonaws.com": {"bedrock", "eu-west-1"},
		"127.0.0.1":         {"bedrock", ""},
		"localhost":         {"bedrock", ""},
		"proxy.example.com": {"bedrock", ""},
		"bedrock-runtime":   {"bedrock", ""},
	}
	for host, want := range rows {
		if service, region := placeOf(host); service != want[0] || region != want[1] {
			t.Errorf("%s: %s in %s, want %v", host, service, region, want)
		}
	}
}

// role is a provider of credentials that are replaced now and then.
type role struct {
	current atomic.Pointer[aws.Credentials]
	asked   atomic.Int32
}

func (r *role) Retrieve(context.Context) (aws.Credentials, error) {
	r.asked.Add(1)
	return *r.current.Load(), nil
}

func (r *role) become(c aws.Credentials) { r.current.Store(&c) }

// service is AWS: it knows one access key and checks every signature.
type service struct {
	*httptest.Server
	key   atomic.Pointer[sigv4.Key]
	calls atomic.Int32
}

func newService(t *testing.T, now func() time.Time) *service {
	t.Helper()
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		good := *s.key.Load()
		lookup := func(id string) (sigv4.Key, bool) { return good, id == good.ID }
		if _, err := sigv4.Check(r, body, sigv4.Scope{Region: "eu-west-1", Service: "bedrock"}, lookup, now()); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func credential(id string) aws.Credentials {
	return aws.Credentials{AccessKeyID: id, SecretAccessKey: "secret of " + id, SessionToken: "token of " + id}
}

func (s *service) accepts(c aws.Credentials) {
	s.key.Store(&sigv4.Key{ID: c.AccessKeyID, Secret: c.SecretAccessKey, Token: c.SessionToken})
}

// TestSigned: the service recomputes each signature over what it has received;
// credentials are fetched once while they are good, again when they expire, and
// again when they are refused, the request then being sent once more.
func TestSigned(t *testing.T) {
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	clock := func() time.Time { return now }
	aside, first := newService(t, clock), credential("AKIAFIRST")
	who := &role{}
	who.become(first)
	aside.accepts(first)
	signer := NewSigner(SignerConfig{Now: clock, Find: func(context.Context) (string, aws.CredentialsProvider, error) { return "eu-west-1", who, nil }})
	client := New()
	defer client.Close()
	r := request(t, aside.URL)
	r.URL.RawQuery = "b=2&a=1"
	r.Header.Set("Content-Type", "application/json")
	r.Sign = signer
	status := func() int {
		t.Helper()
		answer, err := client.Do(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.Status
	}
	for range 3 {
		if got := status(); got != 200 {
			t.Fatalf("status %d", got)
		}
	}
	if n := who.asked.Load(); n != 1 {
		t.Errorf("credentials were fetched %d times, want once", n)
	}
	if got := r.Header.Get("Authorization"); got != "" {
		t.Errorf("the request's own headers were changed: %q", got)
	}

	second := credential("AKIASECOND")
	who.become(second)
	aside.accepts(second)
	now = now.Add(time.Minute)
	before := aside.calls.Load()
	if got := status(); got != 200 || aside.calls.Load()-before != 2 {
		t.Errorf("replaced credentials: status %d after %d calls, want 200 after 2", got, aside.calls.Load()-before)
	}

	aside.accepts(credential("AKIAOTHER")) // the role may not do this
	before, asked := aside.calls.Load(), who.asked.Load()
	for range 3 {
		if got := status(); got != 403 {
			t.Errorf("refused: status %d", got)
		}
	}
	if calls, fetched := aside.calls.Load()-before, who.asked.Load()-asked; calls != 3 || fetched > 1 {
		t.Errorf("a refusal without other credentials: %d calls, %d fetches, want 3 and at most 1", calls, fetched)
	}
}

func TestUnsigned(t *testing.T) {
	rows := map[string]func(context.Context) (string, aws.CredentialsProvider, error){
		"nobody":    func(context.Context) (string, aws.CredentialsProvider, error) { return "eu-west-1", nil, nil },
		"no region": func(context.Context) (string, aws.CredentialsProvider, error) { return "", &role{}, nil },
		"an error": func(context.Context) (string, aws.CredentialsProvider, error) {
			return "", nil, errors.New("no profile")
		},
	}
	for name, find := range rows {
		r := request(t, "http://127.0.0.1:1")
		r.Sign = NewSigner(SignerConfig{Now: time.Now, Find: find})
		if _, err := New().Do(t.Context(), r); kind(t, err) != Unsigned {
			t.Errorf("%s: %v", name, err)
		}
	}
}

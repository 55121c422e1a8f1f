package dynamo_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"holdfast/affinity/store"
	"holdfast/affinity/store/dynamo"
	"holdfast/localstack/wirefault"
)

// bareEnvironment takes away what could decide for the test.
func bareEnvironment(t *testing.T) {
	for _, name := range []string{
		"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE",
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
	} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func TestCredentialsAndEndpoint(t *testing.T) {
	const loopback, remote = "http://127.0.0.1:4566", "https://dynamodb.example.com"
	keys := map[string]string{"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret"}
	for _, row := range []struct {
		name         string
		config       dynamo.Config
		environment  map[string]string
		wantEndpoint string
		wantKey      string
	}{
		{"loopback without credentials", dynamo.Config{Endpoint: loopback}, nil, loopback, "local"},
		{"loopback with credentials", dynamo.Config{Endpoint: loopback}, keys, loopback, "AKID"},
		{"loopback asks no profile", dynamo.Config{Endpoint: loopback}, map[string]string{"AWS_PROFILE": "absent"}, loopback, "local"},
		{"endpoint of the environment", dynamo.Config{}, map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": loopback}, loopback, "local"},
		{"the Config's endpoint comes first", dynamo.Config{Endpoint: "http://[::1]:1"}, map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": remote}, "http://[::1]:1", "local"},
		{"elsewhere with credentials", dynamo.Config{Endpoint: remote, Region: "eu-west-1"}, keys, remote, "AKID"},
		{"elsewhere without credentials", dynamo.Config{Endpoint: remote, Region: "eu-west-1"}, nil, remote, ""},
		{"AWS itself", dynamo.Config{Region: "eu-west-1"}, keys, "", "AKID"},
	} {
		t.Run(row.name, func(t *testing.T) {
			bareEnvironment(t)
			for name, value := range row.environment {
				t.Setenv(name, value)
			}
			client, err := dynamo.NewClient(row.config)
			if err != nil {
				t.Fatal(err)
			}
			o := client.Options()
			if got := aws.ToString(o.BaseEndpoint); got != row.wantEndpoint {
				t.Errorf("endpoint %q, want %q", got, row.wantEndpoint)
			}
			got, err := o.Credentials.Retrieve(t.Context())
			if got.AccessKeyID != row.wantKey || (err == nil) != (row.wantKey != "") {
				t.Errorf("access key %q, error %v; want %q", got.AccessKeyID, err, row.wantKey)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	bareEnvironment(t)
	if _, err := dynamo.New(dynamo.Config{}); err == nil {
		t.Error("no region anywhere, and no error")
	}
	for _, prefix := range []string{"a b", "ä", "a/b", string(make([]byte, 300))} {
		if _, err := dynamo.New(dynamo.Config{Endpoint: "http://127.0.0.1:1", Prefix: prefix}); err == nil {
			t.Errorf("prefix %q is taken", prefix)
		}
	}
}

func TestCreateTablesOnlyOnLoopback(t *testing.T) {
	bareEnvironment(t)
	for _, endpoint := range []string{
		"", "https://dynamodb.eu-west-1.amazonaws.com", "http://127.0.0.1.example.com", "http://localhost.example.com:4566",
		"http://169.254.169.254", "http://10.0.0.1:8000", "http://0.0.0.0:8000", "http://user@example.com:127",
	} {
		client, err := dynamo.NewClient(dynamo.Config{Endpoint: endpoint, Region: "eu-west-1"})
		if err != nil {
			t.Fatal(err)
		}
		if err := dynamo.CreateTables(t.Context(), client, "p-"); !errors.Is(err, dynamo.ErrNotLoopback) {
			t.Errorf("endpoint %q: %v, want ErrNotLoopback", endpoint, err)
		}
	}
}

// Redirects are answers of the server, not places to go to.
func TestRedirectIsNotFollowed(t *testing.T) {
	var followed atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	defer elsewhere.Close()
	front := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer front.Close()
	s, err := dynamo.New(dynamo.Config{Endpoint: front.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context(), key); !errors.Is(err, store.ErrUnavailable) || followed.Load() {
		t.Errorf("error %v, followed %v", err, followed.Load())
	}
}

// After an answer that did not come, the other idle connections are not
// trusted: a process that was frozen finds all of them dead.
func TestLostAnswerLeavesNoIdleConnections(t *testing.T) {
	var opened atomic.Int32
	front := wirefault.New(wirefault.Config{Target: backend.Endpoint()})
	server := httptest.NewUnstartedServer(front)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	prefix := randomPrefix(t)
	createTables(t, prefix)
	s, err := dynamo.New(dynamo.Config{
		Client: newClient(t, server.URL), Prefix: prefix, AttemptTimeout: patientAttempt, Timeout: patientTotal,
	})
	if err != nil {
		t.Fatal(err)
	}
	warm(t, front, s)
	before := opened.Load()
	if before < 4 {
		t.Fatalf("%d connections, want at least 4 idle ones to distrust", before)
	}
	front.Inject(wirefault.Rule{Operation: "BatchGetItem", Fault: wirefault.Fault{Kind: wirefault.Reset}})
	read(t, s)
	if got := opened.Load() - before; got != 1 {
		t.Errorf("the second attempt opened %d connections, want 1 of its own", got)
	}
}

// warm leaves four idle connections: no request is answered before all came.
func warm(t *testing.T, front *wirefault.Front, s *dynamo.Store) {
	t.Helper()
	var together, running sync.WaitGroup
	together.Add(4)
	front.Decide(func(wirefault.Request) wirefault.Fault {
		together.Done()
		together.Wait()
		return wirefault.Fault{}
	})
	for range 4 {
		running.Go(func() {
			if _, err := s.Read(t.Context(), key); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	front.Clear()
}
